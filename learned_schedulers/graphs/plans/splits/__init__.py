"""Splits of profiled workloads among accelerators and CPUs: the files' own rules and objectives, and solvers."""
