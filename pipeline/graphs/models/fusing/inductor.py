"""Levels of Inductor's scheduler nodes that GO's search proposes for a model, by the cost of fusion.

Levels that are expected to lead to the same kernels count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.inductor.nodes import Node
from pipeline.graphs.compilers.inductor.nodes_problem import plan_of_levels, problem_of_nodes
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.models.fusing.fusing_network import Fusing
from pipeline.graphs.models.fusing.fusing_search import Fused, better, draw_round
from pipeline.graphs.models.fusing.numbers import Fusible
from pipeline.graphs.models.whole_graph.search import Learner

EVALUATIONS = 1000  # of the cost, for methods that search by it


@dataclass(frozen=True)
class Proposal:
    """Levels of a model's nodes, and what the cost expects of them."""

    levels: np.ndarray  # (n,) int8
    seconds: float

    @staticmethod
    def of(fused: Fused) -> Proposal:
        """What was judged, without its plan."""
        return Proposal(fused.levels, fused.seconds)

    def by_name(self, nodes: Sequence[Node]) -> dict[str, int]:
        """Levels of the nodes by name."""
        return {node.name: int(level) for node, level in zip(nodes, self.levels, strict=True)}


class Compiler:
    """What Inductor is expected to make of the levels of some models, and the cost: a judge of those models alone."""

    def __init__(self, models: Iterable[Sequence[Node]]) -> None:
        """models: the nodes of each."""
        rates = frozen_rates()
        problems = [problem_of_nodes(nodes, rates) for nodes in models]
        self.problems = [problem.fusion for problem in problems]
        self._by_fusion = {id(problem.fusion): problem for problem in problems}

    def judged(self, problem: FusionProblem, levels: np.ndarray) -> Fused:
        """Of one of `problems`."""
        plan = plan_of_levels(self._by_fusion[id(problem)], levels)
        return Fused(levels, plan, seconds(problem, plan))

    def all_alike(self, problem: FusionProblem) -> Fused:
        """All nodes of one level: as Inductor itself decides."""
        return self.judged(problem, np.ones(problem.n, np.int8))


def learned(
    compiler: Compiler, network: Fusing, problem: FusionProblem, count: int, rng: np.random.Generator, fine_tuned: bool
) -> list[Proposal]:
    """The best by the cost of what the network draws, of different kernels; it learns on meanwhile, or not."""
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
    """As `learned`, of a network that begins without knowledge and learns; without Inductor's own kernels."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Fusing(settings or Settings())
    proposals = learned(compiler, network, problem, count + 1, np.random.default_rng(seed), fine_tuned=True)
    default = compiler.all_alike(problem).plan.kernel.tolist()
    others = [
        proposal for proposal in proposals if compiler.judged(problem, proposal.levels).plan.kernel.tolist() != default
    ]
    return others[:count]
