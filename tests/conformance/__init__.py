"""Tests of the checks of methods."""
