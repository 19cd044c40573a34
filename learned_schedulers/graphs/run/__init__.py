"""Execution of computation graphs on two cores of this machine, in a schedule's order and placement, with times."""
