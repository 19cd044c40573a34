"""Critical-path list scheduling on a machine that issues one instruction a cycle.

In every cycle the ready instruction with the longest path to the end is issued; an instruction is
ready when all its predecessors' results are there. When none is, the one that will be first is taken.
Ties go to the instruction shown first. Gibbons & Muchnick 1986; latencies from dag/latencies.py.
"""

from __future__ import annotations

import numpy as np

from pipeline.dag.topology import heights
from pipeline.models.problems import Problems
from pipeline.schedulers import Request


class CriticalPath:
    def __init__(self, request: Request) -> None:
        pass

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        precedes, latencies = problems.precedes, problems.latencies.astype(np.int64)
        size, n = latencies.shape
        items, height = np.arange(size), heights(precedes, latencies)
        start = np.zeros((size, n), np.int64)  # earliest cycle of issue
        waiting = precedes.sum(1)
        cycle = np.zeros(size, np.int64)
        order = np.empty((size, n), np.int16)
        big = int(height.max(initial=0)) + 1
        for slot in range(n):
            possible = waiting == 0
            delay = np.maximum(start - cycle[:, None], 0)
            # Earliest possible issue first, then the greatest height; argmin takes the first shown of equals.
            cost = np.where(possible, delay * big - height, np.iinfo(np.int64).max)
            chosen = cost.argmin(1)
            order[:, slot] = chosen
            issued = cycle + delay[items, chosen]
            ready = issued + latencies[items, chosen]
            start = np.maximum(start, np.where(precedes[items, chosen], ready[:, None], 0))
            waiting = waiting - precedes[items, chosen]
            waiting[items, chosen] = n + 1
            cycle = issued + 1
        return {"none": order}


make = CriticalPath
