"""GO's head for fusion: what it reads, the network, its search, and how it is trained."""
