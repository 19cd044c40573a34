"""Each method's proposals for a model: levels of its scheduler nodes, at most as many as may be compiled.

Levels that are expected to lead to the same kernels count once.
"""

from __future__ import annotations

import numpy as np
import torch

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import LEVELS
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.fusing_training import train
from learned_schedulers.graphs.models.fusing.inductor import Compiler, Proposal
from learned_schedulers.graphs.models.fusing.inductor import learned as learned
from learned_schedulers.graphs.models.fusing.settings import FusionNetwork

SETTINGS = FusionNetwork(training=["training"], development="training", updates=300, problems=8, restart=20)


def random_levels(compiler: Compiler, problem: FusionProblem, count: int, rng: np.random.Generator) -> list[Proposal]:
    """Each node alone, or at one of two or three levels; their probabilities are drawn as well."""
    drawn = []
    for _ in range(count):
        alone = rng.random()
        levels = np.where(rng.random(problem.n) < alone, 0, rng.integers(1, rng.integers(2, 4), problem.n))
        drawn.append(Proposal.of(compiler.judged(problem, levels.astype(np.int8))))
    return drawn


def by_traffic(compiler: Compiler, problem: FusionProblem) -> list[Proposal]:
    """Pairs of the largest shared results first: a node's level grows with the size of its result."""
    ranks = np.argsort(np.argsort(problem.written, kind="stable"), kind="stable")
    levels = 1 + ranks * (LEVELS - 1) // max(problem.n, 1)
    return [Proposal.of(compiler.judged(problem, levels.astype(np.int8))), Proposal.of(compiler.all_alike(problem))]


def trained(compiler: Compiler, seed: int) -> Fusing:
    """A network that has learned from the training models by the cost model."""
    torch.set_num_threads(1)
    problems = compiler.problems
    network, _ = train(problems, problems, SETTINGS, seed, judge=compiler.judged, default=compiler.all_alike)
    return network


def changed(compiler: Compiler, problem: FusionProblem, levels: np.ndarray, rng: np.random.Generator) -> Proposal:
    """Levels with a change of some neighbouring nodes: a step of the search by measured times."""
    changed_levels = levels.copy()
    begin = rng.integers(problem.n)
    changed_levels[begin : begin + rng.integers(1, 6)] = rng.integers(0, 4)
    return Proposal.of(compiler.judged(problem, changed_levels))
