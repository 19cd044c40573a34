"""Levels of Inductor's scheduler nodes that GO's search proposes for a model, by the cost model of fusion.

Levels that are expected to lead to the same kernels count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.inductor.nodes import Node
from learned_schedulers.graphs.compilers.inductor.nodes_problem import plan_of_levels, problem_of_nodes
from learned_schedulers.graphs.compilers.rates import frozen_rates
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.fusing_search import Fused, better, draw_round
from learned_schedulers.graphs.models.fusing.numbers import Fusible
from learned_schedulers.graphs.models.whole_graph.search import Learner
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings

EVALUATIONS = 1000  # of the cost model, for methods that search by it


@dataclass(frozen=True)
class Proposal:
    """Levels of a model's nodes, and their expected cost."""

    levels: np.ndarray  # (n,) int8
    seconds: float

    @staticmethod
    def of(fused: Fused) -> Proposal:
        """The levels and the cost of a judged plan."""
        return Proposal(fused.levels, fused.seconds)

    def by_name(self, nodes: Sequence[Node]) -> dict[str, int]:
        """Levels of the nodes by name."""
        return {node.name: int(level) for node, level in zip(nodes, self.levels, strict=True)}


class Compiler:
    """The kernels that Inductor is expected to make of levels, and their cost: a judge for these models alone."""

    def __init__(self, models: Iterable[Sequence[Node]]) -> None:
        """models: the nodes of each."""
        rates = frozen_rates()
        problems = [problem_of_nodes(nodes, rates) for nodes in models]
        self.problems = [problem.fusion for problem in problems]
        self._by_fusion = {id(problem.fusion): problem for problem in problems}

    def judged(self, problem: FusionProblem, levels: np.ndarray) -> Fused:
        """The plan and cost of levels for one of `problems`."""
        plan = plan_of_levels(self._by_fusion[id(problem)], levels)
        return Fused(levels, plan, seconds(problem, plan))

    def all_alike(self, problem: FusionProblem) -> Fused:
        """All nodes at one level: Inductor's own decisions."""
        return self.judged(problem, np.ones(problem.n, np.int8))


def learned(
    compiler: Compiler, network: Fusing, problem: FusionProblem, count: int, rng: np.random.Generator, fine_tuned: bool
) -> list[Proposal]:
    """The best proposals of different kernels that the network draws; with `fine_tuned` it learns during the search."""
    fusible, settings = Fusible.of(problem), network.settings
    learn = Learner(network, settings.learning_rate) if fine_tuned else None  # type: ignore[arg-type]
    best = compiler.all_alike(problem)
    different = {best.plan.kernel.tobytes(): best}
    for _ in range(EVALUATIONS // settings.samples):
        drawn = draw_round(network, fusible, best, settings, settings.samples, rng, learn, compiler.judged)
        different.update({fused.plan.kernel.tobytes(): fused for fused in drawn})
        best = better(best, drawn)
    return [Proposal.of(fused) for fused in sorted(different.values(), key=lambda fused: fused.seconds)[:count]]


def learned_from_nothing(
    compiler: Compiler, problem: FusionProblem, count: int, seed: int, settings: Settings | None = None
) -> list[Proposal]:
    """As `learned`, by an untrained network that learns during the search; Inductor's own kernels are left out."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Fusing(settings or Settings())
    proposals = learned(compiler, network, problem, count + 1, np.random.default_rng(seed), fine_tuned=True)
    default = compiler.all_alike(problem).plan.kernel.tolist()
    new_proposals = [
        proposal for proposal in proposals if compiler.judged(problem, proposal.levels).plan.kernel.tolist() != default
    ]
    return new_proposals[:count]
