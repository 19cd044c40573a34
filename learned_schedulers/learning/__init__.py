"""Common parts of all trainings: the loop, checkpoints, sums over processes, files of weights."""
