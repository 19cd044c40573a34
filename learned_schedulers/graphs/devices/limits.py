"""Memory of the devices in a placement problem: so little that the placement matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learned_schedulers.graphs.devices.simulator import peaks
from learned_schedulers.graphs.problems.problem import Problem

SHARE = 1.5  # times an equal share of what a single device would need
WORKING_SET = 1.5  # times the largest need of a single operation, which no placement can divide


def limited(problem: Problem) -> Problem:
    """The same problem on devices with this memory; the problem's own memory does not count."""
    return replace(problem, memory=memory_limit(problem))


def memory_limit(problem: Problem) -> float:
    """Bytes of each device: 1.5 times an equal share of the peak on one device, in the order of the graph.

    The limit is not less than 1.5 times the largest working set of an operation (its weights, its inputs and its
    result), which no placement reduces: forward passes of large images need nearly their peak for a single operation.
    """
    n, m = len(problem), problem.devices
    peak = peaks(problem, np.arange(n, dtype=np.int32), np.zeros(n, np.int32))[0]
    return max(SHARE * float(peak) / m, WORKING_SET * float(working_sets(problem).max(initial=0.0)))


def working_sets(problem: Problem) -> np.ndarray:
    """(n,) bytes that an operation's device must hold while it runs: its weights, its inputs and its result."""
    read = np.bincount(problem.children.targets, problem.sizes[problem.children.sources], len(problem))
    return problem.weights + problem.sizes + read
