"""Functions of real projects, and of a generator, that are measured before registers are allocated."""
