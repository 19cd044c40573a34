"""Encoders: instructions of a block -> a vector for each. Each is a file of this folder, which settings name."""
