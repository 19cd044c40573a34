"""A compiler's rule, no fusion at all, or the best of all plans of a small graph, as the entry says."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.optimum import optimum
from learned_schedulers.graphs.compilers.plan import separate
from learned_schedulers.graphs.methods.fusing import Fusion, fusion_of
from learned_schedulers.graphs.models.fusing.fusing_search import DEFAULTS
from learned_schedulers.graphs.models.fusing.joint import Machine
from learned_schedulers.graphs.models.fusing.settings import Rule as Settings

_PLANS = {"separate": lambda problem: separate(problem.n), "optimum": optimum, **DEFAULTS}


class Rule:
    def __init__(self, settings: Settings) -> None:
        self._plan_of = _PLANS[settings.method]

    def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Fusion:
        plan = self._plan_of(problem)
        return fusion_of(problem, plan, np.array([seconds(problem, plan)]), machine)


make = Rule
