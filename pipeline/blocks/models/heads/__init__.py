"""One file, one head: vectors of a block's instructions -> an order. Found by the file's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations


class Head(Protocol):
    """What every head offers; `embedded` is (B, n, width), blocks of one length in a legal order."""

    decoders: tuple[str, ...]  # names; the first is the one to measure a training by

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Sum of the losses of GCC's orders (B, n), and of how many terms. No terms: nothing was to be decided."""
        ...

    def decode(
        self,
        embedded: torch.Tensor,
        problems: Problems,
        related: Relations,
        rng: np.random.Generator,
        decoders: Sequence[str],
    ) -> dict[str, np.ndarray]:
        """Orders of each of `decoders`: name -> (B, n)."""
        ...


@runtime_checkable
class Confident(Protocol):
    """A head that knows how likely its orders are."""

    def confidence(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,)."""
        ...


@runtime_checkable
class Drawing(Protocol):
    """A head that draws orders from a distribution."""

    def draws(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, rng: np.random.Generator, count: int
    ) -> np.ndarray:
        """The greedy order, and others drawn from the distribution, (B, count, n)."""
        ...
