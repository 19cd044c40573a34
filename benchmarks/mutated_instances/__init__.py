"""Damaged files of instances of others: every reader reads them, or refuses them with file, place and remedy."""
