"""Programs that a generator wrote, ordered at random in every format, built and run: an oracle that knows no orders.

A program prints everything that can be observed of it. Its plain build and its ordered builds must print the same.
"""
