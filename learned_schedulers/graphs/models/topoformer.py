"""A computation graph's operations as vectors, by attention; every head sees one kind of relatives alone.

Topoformer (Gagrani et al. 2022, "Neural topological ordering for computation graphs", section 3.2), as Zhang et al.
2023 use it: heads for parents, children, ancestors and descendants, each with the operation itself. Every head takes
memory O(n^2). The numbers that it sees have no unit, and nothing depends on the numbering of the operations: another
numbering permutes the rows, up to rounding of sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from learned_schedulers.graphs.problems.problem import Problem

HEADS = 4  # or a multiple of it: parents, children, parents and ancestors, children and descendants
N_BUMPS = 32  # a place between 0 and 1 is encoded as the heights of this many bell curves at equal distances
_NUMBERS = 13
N_INPUTS = _NUMBERS + N_BUMPS + 1


class GraphView(NamedTuple):
    """What an encoder sees of a graph of n operations."""

    features: torch.Tensor  # (n, N_INPUTS)
    visible: torch.Tensor  # (HEADS, n, n) bool: head, operation, relative


def graph_view(problem: Problem) -> GraphView:
    """Numbers of run times and of the sizes of results; transfers are not part of it. It takes memory O(n^2)."""
    n = len(problem)
    precedes = np.zeros((n, n), bool)
    precedes[problem.children.sources, problem.children.targets] = True
    reach = _reach(precedes)
    mean = float(problem.sizes.mean()) or 1.0
    features = np.column_stack([_features(problem, precedes, reach), np.log1p(problem.sizes / mean)]).astype(np.float32)
    visible = np.stack([precedes.T, precedes, reach.T, reach]) | np.eye(n, dtype=bool)
    return GraphView(torch.from_numpy(features), torch.from_numpy(visible))


def bumps(places: np.ndarray) -> np.ndarray:
    """Places (...,) between 0 and 1 -> (..., N_BUMPS) float32, bell curves whose width is their distance."""
    centres = (np.arange(N_BUMPS) + 0.5) / N_BUMPS
    return np.exp(-0.5 * ((places[..., None] - centres) * N_BUMPS) ** 2).astype(np.float32)


def priority_places(problem: Problem) -> np.ndarray:
    """(n,) between 0 and 1: the place of each operation in list scheduling's ranking; equal ones share the middle."""
    longer = problem.tails[None] > problem.tails[:, None]  # [i, k]: k comes before i
    equal = problem.tails[None] == problem.tails[:, None]
    return (longer.sum(1) + 0.5 * equal.sum(1)) / max(len(problem), 1)


def _features(problem: Problem, precedes: np.ndarray, reach: np.ndarray) -> np.ndarray:
    n, seconds = len(problem), problem.seconds
    path, total = problem.critical_path or 1.0, float(seconds.sum()) or 1.0
    bound = problem.bound or 1.0
    numbers = [
        seconds / path,
        np.log1p(seconds * n / total),
        problem.tails / path,
        problem.heads / path,
        (path - problem.heads - problem.tails) / path,  # slack
        reach @ seconds / total,  # run time of the operations that wait for it
        reach.T @ seconds / total,
        reach.sum(1) / n,
        reach.sum(0) / n,
        np.log1p(precedes.sum(1)),
        np.log1p(precedes.sum(0)),
        # The same for all operations: whether path or work limits the makespan; the number of devices.
        np.full(n, path / bound),
        np.full(n, 1 / problem.devices),
    ]
    return np.column_stack([*numbers, bumps(priority_places(problem))]).astype(np.float32)


def _reach(precedes: np.ndarray) -> np.ndarray:
    """(n, n) bool: k is a descendant of i. Operations are numbered in a topological order."""
    reach = precedes.copy()
    for i in range(len(precedes) - 1, -1, -1):
        reach[i] |= reach[precedes[i]].any(0)
    return reach


class Layer(nn.Module):
    """Attention, then a perceptron for each operation; each is added to its input.

    torch's TransformerEncoderLayer gives NaN in inference (2.13) where something is added to the scores of attention.
    """

    def __init__(self, width: int, heads: int, expansion: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm_wide = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, expansion * width), nn.Linear(expansion * width, width)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """x: (B, n, width); bias: (B, heads, n, n). Returns (B, n, width)."""
        parts = self.queries_keys_values(self.norm(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, heads, n, width / heads)
        weights = (query @ key.mT * query.shape[-1] ** -0.5 + bias).softmax(-1)
        x = x + self.mix((weights @ value).transpose(1, 2).flatten(2))
        added: torch.Tensor = self.narrow(functional.gelu(self.widen(self.norm_wide(x))))
        return x + added


class Topoformer(nn.Module):
    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.enter = nn.Linear(N_INPUTS, width)
        self.layers = nn.ModuleList(Layer(width, HEADS, 2) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, features: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """features: (B, n, N_INPUTS); visible: (B, HEADS, n, n) bool. Returns (B, n, width)."""
        bias = torch.zeros(visible.shape, dtype=features.dtype, device=features.device).masked_fill(
            ~visible, -torch.inf
        )
        x = self.enter(features)
        for layer in self.layers:
            x = layer(x, bias)
        out: torch.Tensor = self.norm(x)
        return out
