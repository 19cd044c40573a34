"""GO's head for fusion: the numbers that it reads, its network, its search, and its training."""
