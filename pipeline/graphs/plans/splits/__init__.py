"""Profiled workloads split among accelerators and CPUs by the files' own rules and objectives, and solvers of that."""
