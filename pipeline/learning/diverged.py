"""The error of a training that diverged."""

from __future__ import annotations


class Diverged(ValueError):
    """The numbers of the network are not finite."""
