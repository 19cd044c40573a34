"""Which of all methods that were ever handed in is the best, on each set and target?"""
