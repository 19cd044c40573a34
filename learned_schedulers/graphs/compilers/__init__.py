"""Fusion: which operations run as one kernel, the rules by which compilers decide it, and the cost of a kernel."""
