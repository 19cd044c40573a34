"""Copies of the repository on the tiny corpus, damage to files, a trial Slurm. Called by tests and benchmarks alone."""
