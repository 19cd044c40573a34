"""What does `tune` gain in programs of others, beside what compilers do?"""
