"""One file, one head: vectors of a block's instructions -> an order. Found by the file's name."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations


class Head(Protocol):
    """What every head offers; `embedded` is (B, n, width), blocks of one length in a legal order."""

    decoder: str  # name of its own decoder, by which a training is measured; models/decoders has the others

    def loss(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> tuple[torch.Tensor, int]:
        """Sum of the losses of GCC's orders (B, n), and of how many terms. No terms: nothing was to be decided."""
        ...

    def output(self, embedded: torch.Tensor, problems: Problems) -> Any:
        """What its decoders read: scores, or a soft assignment."""
        ...

    def decode(self, output: Any, problems: Problems, related: Relations) -> np.ndarray:
        """Orders by its own decoder, (B, n)."""
        ...


@runtime_checkable
class Confident(Protocol):
    """A head that knows how likely its orders are."""

    def confidence(
        self, embedded: torch.Tensor, problems: Problems, related: Relations, order: np.ndarray
    ) -> np.ndarray:
        """Probability that the network gives to orders (B, n), (B,)."""
        ...

    def decode_believed(self, output: Any, problems: Problems, related: Relations) -> tuple[np.ndarray, np.ndarray]:
        """Orders by its own decoder, (B, n), and the probability of each, (B,)."""
        ...
