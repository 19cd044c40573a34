"""Tests of the wing of computation graphs."""
