"""Computation graphs really executed on two cores of this machine, in a schedule's order and placement, and timed."""
