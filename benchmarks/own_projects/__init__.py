"""Whole projects built through `learned-schedulers cc`, each with its own suite."""
