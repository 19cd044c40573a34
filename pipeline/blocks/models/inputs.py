"""A batch of blocks as the tensors that an encoder reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations
from pipeline.schemas.following import MOST_FOLLOWING as MOST


class Vocabulary:
    """The tokens that a network knows, by number. A token that it does not know is left out."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self._number = {token: number for number, token in enumerate(tokens)}

    @staticmethod
    def of(encodings: Encodings, instructions: np.ndarray, min_count: int) -> Vocabulary:
        """Tokens that occur at least min_count times in `instructions`, rows of any shape."""
        counts = encodings.counts(instructions)
        return Vocabulary([encodings.tokens[row] for row in np.flatnonzero(counts >= min_count)])

    def __len__(self) -> int:
        return len(self.tokens)

    def bags(self, encodings: Encodings) -> Bags:
        """The known tokens of every instruction."""
        number = np.array([self._number.get(token, -1) for token in encodings.tokens], np.int64)[encodings.bags]
        known = number >= 0
        return Bags(number[known], np.r_[0, np.cumsum(known)][encodings.bounds])


class Bags(NamedTuple):
    """tokens[bounds[u] : bounds[u + 1]] of U instructions."""

    tokens: np.ndarray  # int64
    bounds: np.ndarray  # (U + 1,) int64


class Inputs(NamedTuple):
    """B blocks of n instructions; an instruction that occurs many times is embedded once."""

    tokens: torch.Tensor  # int64, the bags of the V distinct instructions, one after the other
    starts: torch.Tensor  # (V,) int64
    instructions: torch.Tensor  # (B, n) int64 in 0..V
    nodes: torch.Tensor  # (B, n, 8) int64, see Relations
    pairs: torch.Tensor  # (B, n, n, 5) int64
    following: torch.Tensor  # (B, 4) int64 in 0..V, what stands behind a block, -1 for none; (B, 0) where not asked for

    def to(self, device: torch.device) -> Inputs:
        return Inputs(*(part.to(device) for part in self))


def inputs(problems: Problems, related: Relations, bags: Bags, following: bool = False) -> Inputs:
    """The tensors of a batch; `following`: with what stands behind the blocks."""
    size, shape = problems.instructions.size, problems.instructions.shape
    behind = np.full((len(problems), MOST if following else 0), -1, np.int64)
    if following and problems.following is not None:
        behind[:] = problems.following
    known = behind >= 0
    seen = np.concatenate([problems.instructions.ravel(), behind[known]])
    distinct, number = np.unique(seen, return_inverse=True)
    behind[known] = number[size:]
    counts = bags.bounds[distinct + 1] - bags.bounds[distinct]
    starts = np.cumsum(counts) - counts
    tokens = bags.tokens[np.repeat(bags.bounds[distinct] - starts, counts) + np.arange(counts.sum())]
    arrays = (tokens, starts, number[:size].reshape(shape), related.nodes, related.pairs, behind)
    return Inputs(*map(torch.from_numpy, arrays))
