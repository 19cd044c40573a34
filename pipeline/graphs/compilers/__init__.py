"""Fusion: which operations run as one kernel, by what rules compilers decide it, and what a kernel costs."""
