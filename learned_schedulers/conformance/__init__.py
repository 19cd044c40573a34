"""Checks that every method passes, ours and those of other packages, as pure functions that name what is wrong."""
