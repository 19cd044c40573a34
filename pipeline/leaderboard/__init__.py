"""Which of all methods that were ever handed in schedules computation graphs best, on each set and target?"""
