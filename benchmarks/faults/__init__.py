"""Faults are injected into runs of the pipeline, and it is judged how each run ends: `python -m benchmarks.faults`."""
