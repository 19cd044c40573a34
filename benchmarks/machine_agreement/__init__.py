"""Fast processor models beside llvm-mca: `python -m benchmarks.machine_agreement --help`."""
