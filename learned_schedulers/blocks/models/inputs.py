"""A batch of blocks as the tensors that an encoder reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.outside import N_OUTSIDE, outside_relations
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import N_PAIR, Relations
from learned_schedulers.blocks.read.leaks import MOST_FOLLOWING as MOST


class Vocabulary:
    """The tokens that a network knows, with their numbers. The network ignores all other tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self._number = {token: number for number, token in enumerate(tokens)}

    @staticmethod
    def of(encodings: Encodings, instructions: np.ndarray, min_count: int) -> Vocabulary:
        """The tokens that occur at least min_count times in `instructions`, row numbers of any shape."""
        counts = encodings.counts(instructions)
        return Vocabulary([encodings.tokens[row] for row in np.flatnonzero(counts >= min_count)])

    def __len__(self) -> int:
        return len(self.tokens)

    def bags(self, encodings: Encodings) -> Bags:
        """The known tokens of every instruction."""
        number = np.array([self._number.get(token, -1) for token in encodings.tokens], np.int64)[encodings.bags]
        in_vocabulary = number >= 0
        bounds = np.r_[0, np.cumsum(in_vocabulary)][encodings.bounds]
        return Bags(number[in_vocabulary], bounds, encodings.compared)


class Bags(NamedTuple):
    """The tokens of U instructions: those of instruction u are tokens[bounds[u] : bounds[u + 1]]."""

    tokens: np.ndarray  # int64
    bounds: np.ndarray  # (U + 1,) int64
    compared: np.ndarray  # (U, 7) int64, of Encodings


class Inputs(NamedTuple):
    """B blocks of n instructions; the network embeds an instruction once, even if it occurs many times."""

    tokens: torch.Tensor  # int64, the bags of the V distinct instructions, one after the other
    starts: torch.Tensor  # (V,) int64
    instructions: torch.Tensor  # (B, n) int64 in 0..V
    nodes: torch.Tensor  # (B, n, 8) int64, see Relations
    kinds: torch.Tensor  # (K, 5) int64, the distinct rows of Relations.pairs
    pairs: torch.Tensor  # (B, n, n) int64 in 0..K
    following: torch.Tensor  # (B, C) int64 in 0..V, instructions after a block, -1 for none; C is 4 or 0
    following_kinds: torch.Tensor  # (M, 4) int64, the distinct rows of outside_relations
    following_pairs: torch.Tensor  # (B, n, C) int64 in 0..M

    def to(self, device: torch.device) -> Inputs:
        return Inputs(*(part.to(device) for part in self))


def inputs(problems: Problems, related: Relations, bags: Bags, following: bool = False) -> Inputs:
    """The tensors of a batch; `following`: include the instructions that follow the blocks."""
    size, shape = problems.instructions.size, problems.instructions.shape
    behind = np.full((len(problems), MOST if following else 0), -1, np.int64)
    if following and problems.following is not None:
        behind[:] = problems.following
    behind_pairs = _distinct(outside_relations(problems.instructions, behind, bags.compared), N_OUTSIDE)
    exists = behind >= 0
    rows = np.concatenate([problems.instructions.ravel(), behind[exists]])
    distinct, number = np.unique(rows, return_inverse=True)
    behind[exists] = number[size:]
    counts = bags.bounds[distinct + 1] - bags.bounds[distinct]
    starts = np.cumsum(counts) - counts
    tokens = bags.tokens[np.repeat(bags.bounds[distinct] - starts, counts) + np.arange(counts.sum())]
    pairs = _distinct(related.pairs, N_PAIR)
    arrays = (tokens, starts, number[:size].reshape(shape), related.nodes, *pairs, behind, *behind_pairs)
    return Inputs(*map(torch.from_numpy, arrays))


def _distinct(categories: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of (..., F) categories less than `count`, (K, F), and the number of each row, (...) in 0..K.

    A network sums embeddings once for each: development batches have twenty times as many pairs.
    """
    *shape, features = categories.shape
    rows = categories.reshape(-1, features)
    _, first, number = np.unique(rows @ count ** np.arange(features), return_index=True, return_inverse=True)
    return rows[first], number.reshape(shape)
