"""What a network sees of small computation graphs: numbers without a unit, and how any two operations are related.

Nothing depends on the numbering of the operations: another numbering permutes the rows, up to rounding of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from pipeline.graphs.problems.problem import Problem
from pipeline.operators.orders import PartialOrders, partial_orders

# How operation k is related to operation i: 0 to 5.
UNRELATED, ITSELF, PARENT, CHILD, ANCESTOR, DESCENDANT = range(6)
N_RELATIONS = 6
N_BUMPS = 32  # a place between 0 and 1 is encoded as the heights of this many bell curves at equal distances
_NUMBERS = 13
N_FEATURES = _NUMBERS + N_BUMPS


class View(NamedTuple):
    """One graph of n operations."""

    features: np.ndarray  # (n, N_FEATURES) float32
    relations: np.ndarray  # (n, n) int64
    precedes: np.ndarray  # (n, n) bool: i is a parent of k


class Batch(NamedTuple):
    """B graphs of n operations each."""

    features: torch.Tensor  # (B, n, N_FEATURES)
    relations: torch.Tensor  # (B, n, n) int64
    slots: torch.Tensor  # (n, N_BUMPS): each slot's place, encoded by `bumps`
    orders: PartialOrders


def view(problem: Problem) -> View:
    """The view of one graph; it takes memory O(n^2), so graphs have to be small."""
    n = len(problem)
    precedes = np.zeros((n, n), bool)
    precedes[problem.children.sources, problem.children.targets] = True
    reach = _reach(precedes)
    relations = np.full((n, n), UNRELATED, np.int64)
    relations[reach.T], relations[reach] = ANCESTOR, DESCENDANT
    relations[precedes.T], relations[precedes] = PARENT, CHILD
    np.fill_diagonal(relations, ITSELF)
    return View(_features(problem, precedes, reach), relations, precedes)


def batch(views: Sequence[View]) -> Batch:
    """The tensors of graphs that all have the same number of operations, at least 1."""
    features, relations, precedes = (np.stack(part) for part in zip(*views, strict=True))
    n = features.shape[1]
    slots = bumps((np.arange(n) + 0.5) / n)
    nodes, pairs, places = (torch.from_numpy(part) for part in (features, relations, slots))
    return Batch(nodes, pairs, places, partial_orders(precedes))


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
        np.full(
            n, path / bound
        ),  # the same for all operations: whether path or work limits the makespan; the number of devices
        np.full(n, 1 / problem.devices),
    ]
    return np.column_stack([*numbers, bumps(priority_places(problem))]).astype(np.float32)


def _reach(precedes: np.ndarray) -> np.ndarray:
    """(n, n) bool: k is a descendant of i. Operations are numbered in a topological order."""
    reach = precedes.copy()
    for i in range(len(precedes) - 1, -1, -1):
        reach[i] |= reach[precedes[i]].any(0)
    return reach
