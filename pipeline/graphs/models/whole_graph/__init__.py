"""GO (Zhou et al. 2020): one network reads a whole graph once and decides for all of its operations."""
