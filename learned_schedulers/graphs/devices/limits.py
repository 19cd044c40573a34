"""Memory of the devices in a placement problem: so little that the placement matters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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

    The limits of the sets are frozen, and so is how this peak is computed: begins are ends less run times, and where
    rounding puts one before the end of the operation in front of it, a result counts too long (limits up to 0.7% above
    the true ones). Schedules are judged by the true peaks.
    """
    ends = np.cumsum(problem.seconds)
    last_needed, children = ends.copy(), problem.children
    np.maximum.at(last_needed, children.sources, ends[children.targets])
    changes = np.r_[-problem.sizes, problem.sizes]
    by_time = np.argsort(np.r_[last_needed, ends - problem.seconds], kind="stable")
    peak = problem.weights.sum() + np.cumsum(changes[by_time]).max(initial=0.0)
    return max(SHARE * float(peak) / problem.devices, WORKING_SET * float(working_sets(problem).max(initial=0.0)))


def working_sets(problem: Problem) -> np.ndarray:
    """(n,) bytes that an operation's device must hold while it runs: its weights, its inputs and its result."""
    read = np.bincount(problem.children.targets, problem.sizes[problem.children.sources], len(problem))
    return problem.weights + problem.sizes + read
