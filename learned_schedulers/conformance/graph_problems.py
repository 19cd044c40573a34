"""Problems that tell methods for graphs apart: empty, deep, wide, drawn, small enough for brute force, tight memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from learned_schedulers.conformance.exhaustive import shortest
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers

WIDE = "wide"


def drawn(rng: np.random.Generator, n: int = 12, devices: int = 3, density: float = 0.25) -> Problem:
    """Edges between all pairs with this probability; times and sizes are uniform; some operations take no time."""
    upper = np.triu(rng.random((n, n)) < density, 1)
    sources, targets = np.nonzero(upper)
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=n))].astype(np.int32)
    return Problem(
        seconds=rng.random(n) * (rng.random(n) < 0.9),
        sizes=rng.random(n),
        children=Edges(offsets, targets.astype(np.int32)),
        devices=devices,
        transfers=Transfers(slope=float(rng.random()), delay=float(rng.random())),
        weight_bytes=rng.random(n),
    )


def chain(n: int) -> Problem:
    """One operation after the other."""
    edges = Edges(np.r_[np.arange(n), n - 1].astype(np.int32), np.arange(1, n, dtype=np.int32))
    return Problem(np.full(n, 0.5), np.ones(n), edges, 3, Transfers(0.1, 0.2))


def star(n: int) -> Problem:
    """One operation before all others and one after all: n - 2 of them are ready together."""
    middle = np.arange(1, n - 1, dtype=np.int32)
    offsets = np.r_[0, n - 2, n - 2 + np.arange(1, n - 1), 2 * (n - 2)].astype(np.int32)
    edges = Edges(offsets, np.r_[middle, np.full(n - 2, n - 1, np.int32)])
    return Problem(np.linspace(0.1, 1, n), np.ones(n), edges, 4, Transfers(0.1, 0.2))


def independent(n: int) -> Problem:
    """No edges, on two devices."""
    return Problem(np.ones(n), np.ones(n), Edges(np.zeros(n + 1, np.int32), np.zeros(0, np.int32)), 2)


@cache
def problems() -> dict[str, Problem]:
    """All kinds by their names; all but the empty ones have transfers."""
    rng = np.random.default_rng(5)
    sizes = [(int(rng.integers(2, 60)), int(rng.integers(1, 6)), float(rng.uniform(0.02, 0.4))) for _ in range(6)]
    return {
        "no operation": independent(0),
        "one operation": independent(1),
        "independent": independent(9),
        "deep": chain(50),
        WIDE: star(50),
        **{f"drawn {k}": drawn(rng, *size) for k, size in enumerate(sizes)},
    }


@cache
def small() -> tuple[Problem, ...]:
    """Problems of at most six operations."""
    return tuple(drawn(np.random.default_rng(k), 2 + k % 5, 2 + k % 2, 0.1 * (k % 6)) for k in range(12))


@cache
def optima() -> tuple[tuple[float, float], ...]:
    """The shortest makespan of each small problem, with its transfers and without, by trying every schedule."""
    return tuple((shortest(problem), shortest(replace(problem, transfers=Transfers()))) for problem in small())


def tight() -> Problem:
    """Nine equal operations, of which a device holds seven."""
    return replace(independent(9), weight_bytes=np.ones(9), memory=7.0)
