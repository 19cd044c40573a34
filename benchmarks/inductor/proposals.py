"""What each method proposes for a model: levels of its scheduler nodes, at most as many as may be compiled.

Levels that are expected to lead to the same kernels count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pipeline.config.fusion import FusionNetwork
from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.inductor.nodes import Node
from pipeline.graphs.compilers.inductor.problem import plan_of_levels, problem_of_nodes
from pipeline.graphs.compilers.levels import LEVELS
from pipeline.graphs.compilers.problem import FusionProblem
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.models.fusing.network import Fusing
from pipeline.graphs.models.fusing.numbers import Fusible
from pipeline.graphs.models.fusing.search import Fused, better, draw_round
from pipeline.graphs.models.fusing.training import train
from pipeline.graphs.models.whole_graph.search import Learner

EVALUATIONS = 1000  # of the cost, for methods that search by it
SETTINGS = FusionNetwork(training=["training"], development="training", updates=300, problems=8, restart=20)


@dataclass(frozen=True)
class Proposal:
    """Levels of a model's nodes, and what the cost expects of them."""

    levels: np.ndarray  # (n,) int8
    seconds: float

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


def random_levels(compiler: Compiler, problem: FusionProblem, count: int, rng: np.random.Generator) -> list[Proposal]:
    """Each node alone, or one of two or three levels; how likely they are is drawn as well."""
    drawn = []
    for _ in range(count):
        alone = rng.random()
        levels = np.where(rng.random(problem.n) < alone, 0, rng.integers(1, rng.integers(2, 4), problem.n))
        drawn.append(_proposal(compiler.judged(problem, levels.astype(np.int8))))
    return drawn


def by_traffic(compiler: Compiler, problem: FusionProblem) -> list[Proposal]:
    """Pairs of the largest shared results first: a node's level grows with what it writes."""
    ranks = np.argsort(np.argsort(problem.written, kind="stable"), kind="stable")
    levels = 1 + ranks * (LEVELS - 1) // max(problem.n, 1)
    return [_proposal(compiler.judged(problem, levels.astype(np.int8))), _proposal(compiler.all_alike(problem))]


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
    return [_proposal(fused) for fused in sorted(different.values(), key=lambda fused: fused.seconds)[:count]]


def trained(compiler: Compiler, seed: int) -> Fusing:
    """A network that has learned from the training models by the cost."""
    torch.set_num_threads(1)
    problems = compiler.problems
    network, _ = train(problems, problems, SETTINGS, seed, judge=compiler.judged, default=compiler.all_alike)
    return network


def changed(compiler: Compiler, problem: FusionProblem, levels: np.ndarray, rng: np.random.Generator) -> Proposal:
    """Some nodes next to each other get another level: what a search by measured times tries."""
    changed_levels = levels.copy()
    begin = rng.integers(problem.n)
    changed_levels[begin : begin + rng.integers(1, 6)] = rng.integers(0, 4)
    return _proposal(compiler.judged(problem, changed_levels))


def _proposal(fused: Fused) -> Proposal:
    return Proposal(fused.levels, fused.seconds)
