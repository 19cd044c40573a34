"""Tests of the benchmark that others use."""
