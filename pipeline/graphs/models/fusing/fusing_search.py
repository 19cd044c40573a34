"""Rounds of refinement of a plan of fusion: levels are drawn around the best ones, judged, and learned from (PPO).

As models/whole_graph/search.py does for placements, with the same draws of groups and moves; loss: the square root of
the cost over the start's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.compilers import loop_fusion, priority_fusion, xla_2023
from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.kinds import Loop
from pipeline.graphs.compilers.levels import levels_of, plan_of
from pipeline.graphs.compilers.plan import Plan
from pipeline.graphs.devices.completion import Decisions
from pipeline.graphs.models.fusing.fusing_network import Fusing
from pipeline.graphs.models.fusing.numbers import Fusible, of_plan
from pipeline.graphs.models.whole_graph import moves
from pipeline.graphs.models.whole_graph.search import Learn, advantages
from pipeline.graphs.problems.groups import drawn_groups

DEFAULTS: dict[str, Callable[[FusionProblem], Plan]] = {
    "loop_fusion": loop_fusion.plan_of,
    "xla_2023": xla_2023.plan_of,
    "priority_fusion": priority_fusion.plan_of,
}


@dataclass(frozen=True)
class Fused:
    """A plan, the levels that lead to it, and what it costs."""

    levels: np.ndarray  # (n,) int8
    plan: Plan
    seconds: float


@dataclass(frozen=True)
class Search:
    """The best of all plans that were judged, and what each evaluation cost."""

    best: Fused
    costs: np.ndarray  # (evaluations,) seconds


Judge = Callable[[FusionProblem, np.ndarray], Fused]  # what levels lead to; another compiler decodes them otherwise


def judged(problem: FusionProblem, levels: np.ndarray) -> Fused:
    """The plan of levels, and its cost."""
    plan = plan_of(problem, levels)
    return Fused(levels, plan, seconds(problem, plan))


def best_default(problem: FusionProblem) -> Fused:
    """The best of the compilers' rules; where its plan has levels (levels_of), these; otherwise the best that have."""
    plans = [rule(problem) for rule in DEFAULTS.values()]
    return min((judged(problem, levels_of(problem, plan)) for plan in plans), key=lambda fused: fused.seconds)


def kept_together(problem: FusionProblem) -> np.ndarray:
    """(n,) which operations a group may hold: loops, and each other operation alone."""
    return np.where(problem.loops <= Loop.REDUCTION, 0, 1 + np.arange(problem.n))


def search(
    network: Fusing,
    fusible: Fusible,
    start: Fused,
    settings: Settings,
    evaluations: int,
    rng: np.random.Generator,
    learn: Learn | None = None,
    judge: Judge = judged,
) -> Search:
    """So many evaluations, the start's among them. Without `learn` nothing is learned."""
    best, costs = start, [start.seconds]
    while len(costs) < evaluations:
        count = min(settings.samples, evaluations - len(costs))
        drawn = draw_round(network, fusible, best, settings, count, rng, learn, judge)
        costs += [fused.seconds for fused in drawn]
        best = better(best, drawn)
    return Search(best, np.array(costs))


def better(fused: Fused, drawn: list[Fused]) -> Fused:
    """The best of a round where that is as good as the plan before; otherwise that."""
    first = min(drawn, key=lambda other: other.seconds)
    return first if first.seconds <= fused.seconds else fused


def draw_round(
    network: Fusing,
    fusible: Fusible,
    state: Fused,
    settings: Settings,
    count: int,
    rng: np.random.Generator,
    learn: Learn | None = None,
    judge: Judge = judged,
) -> list[Fused]:
    """Draw `count` levels around those of the state, judge their plans, and learn from them."""
    problem = fusible.problem
    read = of_plan(fusible, state.levels, state.plan)
    with torch.no_grad():
        scores = network(fusible, read)
        drawn = draw_moves(scores, problem, settings, count, rng)
        before = moves.log_probabilities(scores, drawn, settings.uniform)
    found = [judge(problem, levels) for levels in changed(state.levels, drawn)]
    if learn is not None:
        losses = np.sqrt([fused.seconds for fused in found])
        advantage = torch.tensor(advantages(losses, math.sqrt(state.seconds)), dtype=torch.float32)
        for _ in range(settings.epochs if bool(advantage.any()) else 0):
            scores = network(fusible, read)
            ratio = (moves.log_probabilities(scores, drawn, settings.uniform) - before).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            learn(-torch.minimum(ratio * advantage, clipped * advantage).mean(), scores.size)
    return found


def draw_moves(
    scores: moves.Scores, problem: FusionProblem, settings: Settings, count: int, rng: np.random.Generator
) -> moves.Moves:
    """Moves of `count` changed levels: groups of loops that hang together, each with its new level."""
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(problem.edges, kept_together(problem), chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    number = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    return moves.draw(scores, labels, groups, number, 0.0, settings.uniform, rng)


def changed(levels: np.ndarray, drawn: moves.Moves) -> np.ndarray:
    """(S, n) int8 levels after the moves."""
    decisions = Decisions(np.zeros((1, len(levels)), np.int8), levels[None])
    return moves.changed(decisions, drawn, 1).levels
