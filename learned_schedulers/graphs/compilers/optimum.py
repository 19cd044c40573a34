"""The best plan of a small problem, by enumeration of all legal plans; and the frozen parts of unseen graphs.

The parts were frozen before any network was trained, with the seconds of the best default and of the best of all plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.joining import Kernels, join, kernels_of
from learned_schedulers.graphs.compilers.levels import fuse, may_fuse
from learned_schedulers.graphs.compilers.plan import Plan
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.methods import Unsupported

PARTS = Path(__file__).parent / "frozen" / "fusion_parts.csv"
_ROUNDING = 1 - 1e-6  # sums in different sequences differ by less
MOST_CHOICES = 14  # operations that may be fused into their readers: 2^14 sets of them


def choices(problem: FusionProblem) -> list[int]:
    """The operations that may be fused into their readers."""
    return [i for i in range(problem.n) if may_fuse(problem, i)]


def optimum(problem: FusionProblem) -> Plan:
    """The plan with the least cost; of equal plans the first one in the enumeration.

    The enumeration covers every set of operations that are fused into their readers, and for each set all plans that
    legal joins of two related kernels lead to. Raises Unsupported if more than MOST_CHOICES operations may be fused.
    """
    may = choices(problem)
    if len(may) > MOST_CHOICES:
        raise Unsupported(f"{len(may)} operations may be fused into their readers; at most {MOST_CHOICES} can be tried")
    best, least = Plan(np.arange(problem.n, dtype=np.int64)), np.inf
    for decisions in product((True, False), repeat=len(may)):
        fused, sizes = np.zeros(problem.n, np.bool_), np.ones(problem.n, np.int64)
        if not all(fuse(problem, fused, sizes, i) for i, chosen in zip(may, decisions, strict=True) if chosen):
            continue
        for plan in _joined(problem, kernels_of(problem, fused, sizes)):
            cost = seconds(problem, plan)
            if cost < least:
                best, least = plan, cost
    return best


def _joined(problem: FusionProblem, start: Kernels) -> list[Plan]:
    """All plans that joins lead to, including the start."""
    pending, plans = [start], {start.kernel.tobytes(): Plan(start.kernel)}
    roots = np.flatnonzero(start.kernel >= 0).tolist()
    touched = {
        root: {root, *start.needed[start.needed_offsets[root] : start.needed_offsets[root + 1]].tolist()}
        for root in roots
    }
    related = [(a, b) for a in roots for b in roots if a < b and touched[a] & touched[b]]
    while pending:
        kernels = pending.pop()
        for a, b in related:
            joined = Kernels(*(array.copy() for array in kernels))
            if join(problem, joined, int(kernels.kernel[a]), int(kernels.kernel[b])):
                key = joined.kernel.tobytes()
                if key not in plans:
                    plans[key] = Plan(joined.kernel)
                    pending.append(joined)
    return list(plans.values())


def with_head_room(graphs: Sequence[Graph]) -> list[Graph]:
    """The frozen parts on which some plan is better than every default.

    On the remaining parts no method can gain, and a method that starts from the best default cannot lose. Raises
    ValueError for a graph that is not frozen.
    """
    frozen = pd.read_csv(PARTS).set_index("graph_id")
    if unknown := [graph.name for graph in graphs if graph.graph_id not in frozen.index]:
        raise ValueError(f"{PARTS.name} does not contain {unknown[0]}; frozen parts are never drawn anew")
    better = frozen["optimum_seconds"] < frozen["default_seconds"] * _ROUNDING
    return [graph for graph in graphs if better[graph.graph_id]]
