"""List scheduling by the critical path on a nominal machine that issues one instruction a cycle.

In every cycle, the ready instruction with the longest path to the end issues. An instruction is ready once all results
of its predecessors are available. If none is ready, the instruction that becomes ready first issues. Ties go to the
instruction shown first. Gibbons & Muchnick 1986; latencies from dag/latencies.py.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.list_scheduling import list_schedule
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.method_settings import MethodSettings


class CriticalPath:
    def __init__(self, settings: MethodSettings) -> None:
        pass

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        return Solution.of({"none": list_schedule(problems, "critical_path", None)})


make = CriticalPath
