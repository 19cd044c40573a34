"""Common parts of all trainings: checkpoints, learning rates, sums over processes. Models of both wings call them."""
