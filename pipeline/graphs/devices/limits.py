"""How much memory the devices of a placement problem have: little, so that where operations go matters."""

from __future__ import annotations

import numpy as np

from pipeline.graphs.devices.simulator import peaks
from pipeline.graphs.problems.problem import Problem

SHARE = 1.5  # times an equal share of what one device would need
WORKING_SET = 1.5  # times the most that a single operation needs: no placement spreads that


def memory_limit(problem: Problem) -> float:
    """Bytes of each device: 1.5 times an equal share of the peak on one device, in the order of the graph.

    But not less than 1.5 times the largest working set of one operation (its weights, what it reads and its result),
    which no placement makes smaller: forward passes of large pictures hold nearly all they ever hold at one operation.
    """
    n, m = len(problem), problem.devices
    one = peaks(problem, np.arange(n, dtype=np.int32), np.zeros(n, np.int32))[0]
    return max(SHARE * float(one) / m, WORKING_SET * float(working_sets(problem).max(initial=0.0)))


def working_sets(problem: Problem) -> np.ndarray:
    """(n,) bytes that have to be on an operation's device while it runs: its weights, what it reads, its result."""
    read = np.bincount(problem.children.targets, problem.sizes[problem.children.sources], len(problem))
    return problem.weights + problem.sizes + read
