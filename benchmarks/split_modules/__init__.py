"""Modules of many kinds, run by random splits beside themselves: `python -m benchmarks.split_modules`."""
