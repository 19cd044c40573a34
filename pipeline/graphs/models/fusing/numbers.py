"""What the network reads of a graph that is to be fused, and of the plan that it is to improve: numbers without units.

Seconds count in launches of a kernel: whether a launch or the traffic matters is what fusion is about.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pipeline.graphs.compilers.cost import kernel_costs
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.kinds import Loop
from pipeline.graphs.compilers.levels import LEVELS, may_fuse
from pipeline.graphs.compilers.plan import NOT_WRITTEN, Plan
from pipeline.graphs.compilers.producers import savings

GRAPH_NUMBERS = 15
PLAN_NUMBERS = 7


@dataclass(frozen=True)
class Fusible:
    """A problem as the network reads it."""

    problem: FusionProblem
    may: np.ndarray  # (n,) bool: may be fused into its readers
    operations: Tensor  # (n, GRAPH_NUMBERS)
    sources: Tensor  # (E,) int64
    targets: Tensor  # (E,) int64

    @staticmethod
    def of(problem: FusionProblem) -> Fusible:
        launch, byte = problem.machine[0], problem.machine[2]
        may = np.array([may_fuse(problem, i) for i in range(problem.n)], bool)
        own = [
            np.log1p(problem.computing / launch),
            np.log1p(problem.written * byte / launch),
            np.log1p(problem.own_read * byte / launch),
            np.log1p(np.diff(problem.child_offsets)),
            np.log1p(np.diff(problem.parent_offsets)),
            *(problem.loops[None] == np.arange(len(Loop))[:, None]).astype(float),
            problem.expensive,
            problem.elsewhere,
            may,
            np.log1p(problem.space) / 10,
            np.full(problem.n, math.log(problem.n + 1) / 7),
        ]
        edges = problem.edges
        return Fusible(
            problem,
            may,
            torch.tensor(np.stack(own, 1), dtype=torch.float32),
            torch.from_numpy(edges.sources.astype(np.int64)),
            torch.from_numpy(edges.targets.astype(np.int64)),
        )


def of_plan(fusible: Fusible, levels: np.ndarray, plan: Plan) -> Tensor:
    """(n, PLAN_NUMBERS) of a plan that levels, (n,), lead to."""
    problem = fusible.problem
    launch = problem.machine[0]
    seconds, computing, moved = kernel_costs(problem, plan)
    written = plan.kernel != NOT_WRITTEN
    own = np.where(written, plan.kernel, 0)
    results = np.bincount(plan.kernel[written], minlength=problem.n)
    saved = savings(problem, plan.kernel, fusible.may) / launch
    numbers = [
        plan.fused,
        levels / LEVELS,
        np.where(written, np.log1p(seconds[own] / launch), 0.0),
        np.where(written, np.log1p(computing[own] / launch), 0.0),
        np.where(written, np.log1p(moved[own] * problem.machine[2] / launch), 0.0),
        np.where(written, np.log1p(results[own]), 0.0),
        np.sign(saved) * np.log1p(np.abs(saved)),
    ]
    return torch.tensor(np.stack(numbers, 1), dtype=torch.float32)
