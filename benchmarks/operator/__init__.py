"""POPOCS beside its peers on the dependencies of real blocks: `python -m benchmarks.operator --help`."""
