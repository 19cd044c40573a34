"""HEFT: operations by their longest path to the end, transfers included, each where it ends first; it knows the target.

Topcuoglu, Hariri & Wu 2002, sections 4.1 and 4.2. Upward rank = run time + the largest, over the children, of the mean
transfer to another device plus the child's rank. An operation may be inserted between two that are already placed. If
run times are drawn, HEFT knows their means.
"""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np
from numba import njit

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Proposals
from pipeline.graphs.schedulers.rules.proposing import proposed
from pipeline.graphs.schedulers.rules.reading import by_times


class Settings(GraphMethodSettings):
    needs: ClassVar[frozenset[str]] = frozenset({"target"})
    draws: ClassVar[bool] = False


class Heft:
    def __init__(self, settings: GraphMethodSettings, target: Target) -> None:
        self._target = target

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        placement, starts = earliest_finish(self._target.mean)
        order = by_times(starts, starts + self._target.mean.seconds)
        return proposed(self._target, order[None], placement[None], began)


def earliest_finish(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Device of each operation, (n,) int32, and when it starts, (n,) seconds."""
    transfers, children, parents = problem.transfers, problem.children, problem.parents
    delays = transfers.slope * problem.sizes + transfers.delay
    ranks = _upward_ranks(children.offsets, children.targets, problem.seconds, delays)
    sequence = np.argsort(-ranks, kind="stable")  # equal ranks by number, so that parents come first
    return _insert(parents.offsets, parents.targets, problem.seconds, delays, problem.devices, sequence)


@njit(cache=True)
def _upward_ranks(offsets: np.ndarray, children: np.ndarray, seconds: np.ndarray, delays: np.ndarray) -> np.ndarray:
    ranks = seconds.copy()
    for i in range(len(seconds) - 1, -1, -1):
        longest = 0.0
        for edge in range(offsets[i], offsets[i + 1]):
            longest = max(longest, delays[i] + ranks[children[edge]])
        ranks[i] += longest
    return ranks


@njit(cache=True)
def _insert(
    offsets: np.ndarray,
    parents: np.ndarray,
    seconds: np.ndarray,
    delays: np.ndarray,
    n_devices: int,
    sequence: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Each operation of the sequence goes into the gap in which it ends first; of equal ones on the lowest device.

    The gaps of a device are a linked list by time; the last gap has no end. An operation splits one gap into at most
    two, so there are never more than n + m. The search goes from the last gap back to the first that ends late enough;
    these are few, as the sequence is about that of the starts.
    """
    n = len(seconds)
    placement, starts, ends = np.zeros(n, np.int32), np.zeros(n), np.zeros(n)
    gap_begins, gap_ends = np.zeros(n + n_devices), np.full(n + n_devices, np.inf)
    before, last, n_gaps = np.full(n + n_devices, -1, np.int64), np.arange(n_devices), n_devices
    for i in sequence:
        finish, best_device, best_gap, gap_after_best = np.inf, 0, -1, -1
        for device in range(n_devices):
            ready = 0.0
            for edge in range(offsets[i], offsets[i + 1]):
                parent = parents[edge]
                ready = max(ready, ends[parent] if placement[parent] == device else ends[parent] + delays[parent])
            gap, after = last[device], -1
            chosen, after_chosen = gap, -1
            while before[gap] >= 0 and gap_ends[before[gap]] >= ready + seconds[i]:
                gap, after = before[gap], gap
                if max(gap_begins[gap], ready) + seconds[i] <= gap_ends[gap]:
                    chosen, after_chosen = gap, after
            start = max(gap_begins[chosen], ready)
            if start + seconds[i] < finish:
                finish, best_device, best_gap, gap_after_best, starts[i] = (
                    start + seconds[i],
                    device,
                    chosen,
                    after_chosen,
                    start,
                )
        placement[i], ends[i] = best_device, finish
        if starts[i] > gap_begins[best_gap]:  # the part before it stays this gap; the part behind it is a new one
            if finish < gap_ends[best_gap]:
                gap_begins[n_gaps], gap_ends[n_gaps], before[n_gaps] = finish, gap_ends[best_gap], best_gap
                if gap_after_best >= 0:
                    before[gap_after_best] = n_gaps
                else:
                    last[best_device] = n_gaps
                n_gaps += 1
            gap_ends[best_gap] = starts[i]
        else:
            gap_begins[best_gap] = finish
    return placement, starts


make = Heft
