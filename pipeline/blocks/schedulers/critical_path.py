"""List scheduling by the critical path on a machine that issues one instruction a cycle, whatever the machine at hand.

In every cycle the ready instruction with the longest path to the end is issued; an instruction is
ready when all its predecessors' results are there. When none is, the one that will be first is taken.
Ties go to the instruction shown first. Gibbons & Muchnick 1986; latencies from dag/latencies.py.
"""

from __future__ import annotations

import numpy as np

from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.list_scheduling import list_schedule
from pipeline.config.methods import MethodSettings


class CriticalPath:
    def __init__(self, settings: MethodSettings) -> None:
        pass

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return Solution.of({"none": list_schedule(problems, "critical_path", None)})


make = CriticalPath
