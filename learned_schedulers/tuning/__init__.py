"""A project's own build: what its calls of a compiler ask for."""
