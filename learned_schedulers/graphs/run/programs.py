"""A schedule as two programs, one per device: its operations in sequence, and the results that each fetches first.

The programs cannot deadlock: both follow one topological order. So of all operations that have not run, the first in
this order has its parents' results, and it is the next operation of its device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learned_schedulers.graphs.problems.problem import Edges

_PRIME = 2**31 - 1


@dataclass(frozen=True)
class Step:
    """One operation of a program."""

    operation: int
    fetched: tuple[int, ...]  # parents on the other device whose results this device has not fetched yet
    parents: tuple[int, ...]


def program(parents: Edges, order: np.ndarray, placement: np.ndarray, device: int) -> list[Step]:
    """The steps of a device in a schedule of n operations.

    order, placement: (n,). If several operations of the device need a result, the first of them fetches it.
    """
    steps = []
    available: set[int] = set()  # results of the other device
    for i in order[placement[order] == device].tolist():
        needed = parents.targets[parents.offsets[i] : parents.offsets[i + 1]].tolist()
        fetched = tuple(parent for parent in needed if placement[parent] != device and parent not in available)
        available.update(fetched)
        steps.append(Step(i, fetched, tuple(needed)))
    return steps


def chains(order: np.ndarray, placement: np.ndarray) -> tuple[bytes, bytes]:
    """Operations of each device in sequence, as bytes: schedules with equal chains have the same programs."""
    first, second = (order[placement[order] == device].astype(np.int32).tobytes() for device in (0, 1))
    return first, second


def stamp(operation: int, run: int, before: int) -> int:
    """The number that an operation fills its result with in a run. before: the sum of its parents' stamps.

    A stamp is right only if all operations that it depends on have read their parents' results of this run.
    """
    return (31 * before + operation + run + 1) % _PRIME


def stamps(parents: Edges, runs: np.ndarray) -> np.ndarray:
    """The right stamps of all operations, (R, n) int64; runs: (R,) numbers of the runs."""
    n = len(parents.offsets) - 1
    written = np.zeros((len(runs), n), np.int64)
    for i in range(n):
        needed = parents.targets[parents.offsets[i] : parents.offsets[i + 1]]
        written[:, i] = (31 * written[:, needed].sum(1) + i + runs + 1) % _PRIME
    return written
