"""The pipeline on a real Slurm of two nodes on this machine, compared with a local run, and through its faults."""
