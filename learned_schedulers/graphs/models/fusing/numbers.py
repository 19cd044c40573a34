"""The numbers that the network reads of a graph to be fused, and of the plan to be improved; they have no units.

Seconds count in launches of a kernel: fusion depends on whether the launch or the traffic dominates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learned_schedulers.graphs.compilers.cost import kernel_costs
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.levels import LEVELS, may_fuse
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan
from learned_schedulers.graphs.compilers.producers import savings

GRAPH_NUMBERS = 15
PLAN_NUMBERS = 7


@dataclass(frozen=True)
class Fusible:
    """A problem as the network reads it."""

    problem: FusionProblem
    may: np.ndarray  # (n,) bool: whether the operation may be fused into its readers
    operations: Tensor  # (n, GRAPH_NUMBERS)
    sources: Tensor  # (E,) int64
    targets: Tensor  # (E,) int64

    @staticmethod
    def of(problem: FusionProblem) -> Fusible:
        launch, byte = problem.machine.launch_seconds, problem.machine.cache_seconds_per_byte
        may = np.array([may_fuse(problem, i) for i in range(problem.n)], bool)
        columns = [
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
            torch.tensor(np.stack(columns, 1), dtype=torch.float32),
            torch.from_numpy(edges.sources.astype(np.int64)),
            torch.from_numpy(edges.targets.astype(np.int64)),
        )


def plan_numbers(fusible: Fusible, levels: np.ndarray, plan: Plan) -> Tensor:
    """(n, PLAN_NUMBERS) of the plan that the levels, (n,), lead to."""
    problem = fusible.problem
    launch = problem.machine.launch_seconds
    seconds, computing, moved = kernel_costs(problem, plan)
    written = plan.kernel != NOT_WRITTEN
    kernel = np.where(written, plan.kernel, 0)
    results = np.bincount(plan.kernel[written], minlength=problem.n)
    saved = savings(problem, plan.kernel, fusible.may) / launch
    numbers = [
        plan.fused,
        levels / LEVELS,
        np.where(written, np.log1p(seconds[kernel] / launch), 0.0),
        np.where(written, np.log1p(computing[kernel] / launch), 0.0),
        np.where(written, np.log1p(moved[kernel] * problem.machine.cache_seconds_per_byte / launch), 0.0),
        np.where(written, np.log1p(results[kernel]), 0.0),
        np.sign(saved) * np.log1p(np.abs(saved)),
    ]
    return torch.tensor(np.stack(numbers, 1), dtype=torch.float32)
