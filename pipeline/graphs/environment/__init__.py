"""Schedules built operation by operation: many at once in torch, and one at a time for other people's agents."""
