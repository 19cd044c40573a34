"""The error of a training whose numbers are no longer numbers."""

from __future__ import annotations


class Diverged(ValueError):
    """The network's numbers are no longer finite."""
