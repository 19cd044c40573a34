"""Environments in which agents build schedules operation by operation: many at once in torch, or one in gymnasium."""
