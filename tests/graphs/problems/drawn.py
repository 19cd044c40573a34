"""Small random problems and random valid schedules of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learned_schedulers.conformance.graph_problems import drawn as problem
from learned_schedulers.graphs.problems.problem import Edges, Parts, Problem, SharedWeights, Transfers

__all__ = ["problem", "renumbered", "schedules", "unequal", "with_sharing"]


def unequal(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same operations on devices and links that all differ, some pairs in their directions, too."""
    n, m = len(problem), problem.devices
    speeds = rng.uniform(0.5, 3.0, m) * rng.uniform(0.5, 2.0, (n, m))
    links = Transfers(rng.random((m, m)), rng.random((m, m)))
    return replace(problem, seconds=problem.seconds[:, None] * speeds, transfers=links)


def with_sharing(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same with up to four weights and inputs that several operations read, and parts of results, some lasting."""
    n = len(problem)
    readers = [sorted(rng.choice(n, rng.integers(1, n + 1), replace=False).tolist()) for _ in range(rng.integers(5))]
    tensors = [(numbers, int(rng.integers(4))) for numbers in readers]
    shared = SharedWeights.of(tensors[::2]).and_those_of(SharedWeights.of(tensors[1::2], sent=False))
    owners = np.repeat(np.arange(n), rng.integers(1, 4, n))
    children = [problem.children.targets[slice(*problem.children.offsets[i : i + 2])] for i in range(n)]
    readers = [children[i][rng.random(len(children[i])) < 0.6] for i in owners]
    edges = Edges(
        np.cumsum([0, *map(len, readers)]).astype(np.int32), np.concatenate([np.zeros(0, np.int32), *readers])
    )
    parts = Parts(owners, rng.random(len(owners)), edges, rng.random(len(owners)) < 0.3)
    return replace(problem, shared=shared, results=parts)


def renumbered(problem: Problem, order: np.ndarray) -> Problem:
    """The same graph with other numbers: operation order[k], a topological order, becomes number k."""
    number = np.argsort(order)
    sources, targets = number[problem.children.sources], number[problem.children.targets]
    by_source = np.lexsort((targets, sources))
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=len(order)))].astype(np.int32)
    edges = Edges(offsets, targets[by_source].astype(np.int32))
    return Problem(problem.seconds[order], problem.sizes[order], edges, problem.devices, problem.transfers)


def schedules(problem: Problem, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random topological orders, uniform among the ready operations in each step, and uniform devices: (count, n)."""
    orders = np.array([_order(problem, rng) for _ in range(count)], np.int32).reshape(count, len(problem))
    return orders, rng.integers(0, problem.devices, orders.shape).astype(np.int32)


def _order(problem: Problem, rng: np.random.Generator) -> list[int]:
    waiting = np.diff(problem.parents.offsets)
    ready, order = np.flatnonzero(waiting == 0).tolist(), []
    while ready:
        i = ready.pop(int(rng.integers(len(ready))))
        order.append(i)
        for child in problem.children.targets[problem.children.offsets[i] : problem.children.offsets[i + 1]].tolist():
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return order
