"""What is an order worth before registers are allocated, when it decides what is spilled?"""
