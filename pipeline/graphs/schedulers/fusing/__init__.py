"""Methods that fuse the operations of a graph: each returns a plan, and the cost of every evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.config.fusion import Annealing, GoFusion, Rule
from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.levels import levels_of
from pipeline.graphs.compilers.optimum import optimum
from pipeline.graphs.compilers.plan import Plan, separate
from pipeline.graphs.devices.completion import OPEN, PLAIN
from pipeline.graphs.models.fusing.fusing_search import DEFAULTS
from pipeline.graphs.models.fusing.joint import Machine, Scheduled, schedule_of_plan
from pipeline.graphs.schedulers.fusing import fusion_annealing, go_fusion


def fuse(
    problem: FusionProblem, settings: Rule | Annealing | GoFusion, rng: np.random.Generator, weights: Path | None = None
) -> tuple[Plan, np.ndarray]:
    """A method's plan, and the seconds of each of its evaluations, (evaluations,).

    Raises compilers.optimum.TooLarge if all plans have to be evaluated and there are too many.
    """
    if isinstance(settings, Annealing):
        result = fusion_annealing.search(problem, settings, rng)
        return result.best.plan, result.costs
    if isinstance(settings, GoFusion):
        result = go_fusion.search(problem, settings, rng, weights)
        return result.best.plan, result.costs
    if settings.method == "separate":
        plan = separate(problem.n)
    elif settings.method == "optimum":
        plan = optimum(problem)
    else:
        plan = DEFAULTS[settings.method](problem)
    return plan, np.array([seconds(problem, plan)])


def placed(problem: FusionProblem, machine: Machine, plan: Plan) -> Scheduled:
    """A plan on several devices; HEFT places and orders its kernels."""
    undecided = np.full(problem.n, OPEN, np.int8), np.full(problem.n, PLAIN, np.int8)
    return schedule_of_plan(problem, machine, plan, levels_of(problem, plan), *undecided)
