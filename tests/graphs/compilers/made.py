"""Fusion problems that tell methods apart: empty, deep, wide, drawn, and so small that all plans can be enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.optimum import optimum
from learned_schedulers.graphs.compilers.rates import Rates
from learned_schedulers.graphs.models.fusing.joint import Machine
from learned_schedulers.graphs.problems.problem import Transfers
from learned_schedulers.graphs.read.graph import Operations, graph

# A launch takes a second, a byte in memory or cache takes a second, and arithmetic is nearly free.
UNIT = Rates(1.0, 0.0, 1.0, 1.0, 1e9, 1e9, 1e9, 1e9, 1e9)
BALANCED = Rates(1.0, 0.0, 1.0, 1.0, 0.5, 0.1, 1.0, 1.0, 1.0)  # arithmetic counts, too
KINDS = ("add", "relu", "exp", "tanh", "cat", "clone", "sum", "_softmax", "avg_pool2d", "mm", "scatter_add")
SEVERAL = Machine(3, Transfers(0.5, 1.0))
WIDE = "wide"


def problem(
    kinds: Sequence[str], edges: Sequence[tuple[int, int]], rates: Rates = UNIT, **sizes: object
) -> FusionProblem:
    """Operations with edges; every tensor has 4 bytes, one element, unless `written` or `flops` say otherwise."""
    n = len(kinds)
    written = np.asarray(sizes.get("written", [4] * n), np.int64)
    flops = np.asarray(sizes.get("flops", [1] * n), np.float64)
    pairs = np.asarray(edges, np.int64).reshape(-1, 2)
    read = np.bincount(pairs[:, 1], written[pairs[:, 0]], n).astype(np.int64)
    read += np.asarray(sizes.get("own_read", [0] * n), np.int64)
    listed = Operations(kinds, flops, read, written, np.zeros(n, np.int64))
    graph_of_kinds, _ = graph("made", "family", "made", listed, pairs[:, 0], pairs[:, 1])
    return fusion_problem(graph_of_kinds, rates)


def drawn(n: int, rng: np.random.Generator, rates: Rates = UNIT) -> FusionProblem:
    """Random kinds, edges and sizes; there are only a few sizes, so that many loops have the same length."""
    kinds = [
        KINDS[k] for k in rng.choice(len(KINDS), n, p=[0.2, 0.15, 0.1, 0.1, 0.05, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
    ]
    edges = [(i, j) for j in range(n) for i in range(j) if rng.random() < 2 / n]
    size = rng.choice([4, 8], n, p=[0.8, 0.2])
    own_read = rng.choice([0, 4, 16], n)
    return problem(kinds, edges, rates, written=size, flops=size / 4, own_read=own_read)


@cache
def problems() -> dict[str, FusionProblem]:
    """All kinds by their names; each has few loops to fuse, or so many that no one enumerates all plans."""
    rng, middle = np.random.default_rng(5), range(1, 39)
    star = [*((0, i) for i in middle), *((i, 39) for i in middle)]
    return {
        "no operation": problem([], [], BALANCED),
        "one operation": problem(["add"], [], BALANCED),
        "independent": problem(["add"] * 9, [], BALANCED),
        "deep": problem(["relu", "exp", "mm", "sum"] * 15, [(i, i + 1) for i in range(59)], BALANCED),
        WIDE: problem(["relu", *["add", "exp"] * 19, "cat"], star, BALANCED),
        **{f"drawn {k}": drawn(n, rng, BALANCED) for k, n in enumerate((4, 8, 11, 60, 80))},
    }


@cache
def small() -> tuple[FusionProblem, ...]:
    """Problems of at most eight operations."""
    return tuple(drawn(2 + k % 7, np.random.default_rng(k), BALANCED) for k in range(14))


@cache
def optima() -> tuple[float, ...]:
    """Seconds of the best plan of each small problem, of all plans."""
    return tuple(seconds(each, optimum(each)) for each in small())
