"""What every training shares: checkpoints, learning rates, sums over processes. It knows no domain; models call it."""
