"""Consequences of the dependencies of one block on an in-order processor: distances between issues, and tails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.processors.in_order import Block


class Graph(NamedTuple):
    """One block of n instructions."""

    reach: np.ndarray  # (n, n) bool: [i, k] if i must come before k, directly or not
    distance: np.ndarray  # (n, n) int64: least cycles from the issue of i to that of k, if i comes first
    tail: np.ndarray  # (n,) int64: least cycles from the issue of i to the last write-back of i and all that follow it


@njit(cache=True, nogil=True)
def closure(precedes: np.ndarray) -> np.ndarray:
    """(n, n) bool: [i, k] if i must come before k, directly or not."""
    n = len(precedes)
    reach = precedes.copy()
    for middle in range(n):
        for i in range(n):
            if reach[i, middle]:
                for k in range(n):
                    reach[i, k] |= reach[middle, k]
    return reach


@njit(cache=True, nogil=True)
def graph(block: Block, precedes: np.ndarray) -> Graph:
    """Lower bounds that hold in every legal order of the block. precedes: (n, n) bool, acyclic.

    Between i and a later k there are the delay of the result, write-backs in order (k ends no sooner than i), and the
    cycles that the micro-ops of i fill beyond the issue width.
    """
    n = len(precedes)
    reach = closure(precedes)
    followers = np.zeros(n, np.int64)
    for i in range(n):
        for k in range(n):
            followers[i] += reach[i, k]
    width = block.issue_width
    distance = np.zeros((n, n), np.int64)
    tail = np.zeros(n, np.int64)
    for i in np.argsort(followers):  # each follower of i has fewer followers than i
        latency = int(block.latencies[i])
        carried = max(0, (int(block.micro_ops[i]) - 1) // width)
        tail[i] = max(latency, carried)
        for k in range(n):
            if i == k:
                continue
            distance[i, k] = max(carried, latency - int(block.latencies[k]), int(block.delays[i, k]))
            if reach[i, k]:
                tail[i] = max(tail[i], distance[i, k] + tail[k])
    return Graph(reach, distance, tail)
