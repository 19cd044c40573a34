"""Heads: vectors of a block's instructions -> an order. Each is a file of this folder, which settings name."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations


class Head(Protocol):
    """The interface of every head; `embedded` is (B, n, width), for blocks of one length in a legal order."""

    decoder: str  # name of the head's decoder, which measures a training; further decoders: models/decoders.py

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Sum of the losses of GCC's orders (B, n), and its number of terms; 0 if the blocks leave no choice."""
        ...

    def output(self, embedded: torch.Tensor, problems: Problems) -> Any:
        """The input of its decoders: scores, or a soft assignment."""
        ...

    def decode(self, output: Any, problems: Problems, related: Relations) -> np.ndarray:
        """Orders from the head's decoder, (B, n)."""
        ...


@runtime_checkable
class Confident(Protocol):
    """A head that computes the probability of its orders."""

    def confidence(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,)."""
        ...

    def decode_with_probability(
        self, output: Any, problems: Problems, related: Relations
    ) -> tuple[np.ndarray, np.ndarray]:
        """Orders from the head's decoder, (B, n), and the probability of each, (B,)."""
        ...
