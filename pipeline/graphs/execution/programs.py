"""A schedule as two programs, one a device: what each runs, in which sequence, and which results it fetches before.

Neither program waits in a circle: both follow one topological order, so of all operations that have not run, the first
in that order has its parents' results, and its device stands at it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.graphs.problems.problem import Edges

_PRIME = 2**31 - 1


@dataclass(frozen=True)
class Step:
    """One operation of a program."""

    operation: int
    fetched: tuple[int, ...]  # parents on the other device whose results this device has not fetched yet
    parents: tuple[int, ...]


def program(parents: Edges, order: np.ndarray, placement: np.ndarray, device: int) -> list[Step]:
    """What a device does in a schedule of n operations.

    order, placement: (n,). Of a result that several operations of the device need, the first one fetches it.
    """
    steps = []
    there: set[int] = set()
    for i in order[placement[order] == device].tolist():
        of = parents.targets[parents.offsets[i] : parents.offsets[i + 1]].tolist()
        fetched = tuple(parent for parent in of if placement[parent] != device and parent not in there)
        there.update(fetched)
        steps.append(Step(i, fetched, tuple(of)))
    return steps


def chains(order: np.ndarray, placement: np.ndarray) -> tuple[bytes, bytes]:
    """What the two devices run: schedules that are alike in it have the same programs."""
    first, second = (order[placement[order] == device].astype(np.int32).tobytes() for device in (0, 1))
    return first, second


def stamp(operation: int, run: int, before: int) -> int:
    """What an operation writes all over its result in a run. before: the sum of its parents' stamps.

    So a result is right only where every operation behind it has read the results of its parents of this run.
    """
    return (31 * before + operation + run + 1) % _PRIME


def stamps(parents: Edges, runs: np.ndarray) -> np.ndarray:
    """What all operations write where each reads what it should, (R, n) int64; runs: (R,) their numbers."""
    n = len(parents.offsets) - 1
    written = np.zeros((len(runs), n), np.int64)
    for i in range(n):
        of = parents.targets[parents.offsets[i] : parents.offsets[i + 1]]
        written[:, i] = (31 * written[:, of].sum(1) + i + runs + 1) % _PRIME
    return written
