"""Rounds of refinement of a plan of fusion: levels are drawn around the best ones, judged, and learned from (PPO).

As models/whole_graph/search.py does it for placements, with the same draws of groups and moves. The loss is the square
root of the cost, relative to the start's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from learned_schedulers.graphs.compilers import loop_fusion, priority_fusion, xla_2023
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.levels import levels_of, plan_of
from learned_schedulers.graphs.compilers.plan import Plan
from learned_schedulers.graphs.devices.completion import Decisions
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.numbers import Fusible, plan_numbers
from learned_schedulers.graphs.models.whole_graph import moves
from learned_schedulers.graphs.models.whole_graph.search import Learn, advantages
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.problems.groups import drawn_groups
from learned_schedulers.methods import Unsupported

DEFAULTS: dict[str, Callable[[FusionProblem], Plan]] = {
    "loop_fusion": loop_fusion.plan_of,
    "xla_2023": xla_2023.plan_of,
    "priority_fusion": priority_fusion.plan_of,
}


@dataclass(frozen=True)
class Fused:
    """A plan, the levels that lead to it, and its cost."""

    levels: np.ndarray  # (n,) int8
    plan: Plan
    seconds: float


@dataclass(frozen=True)
class SearchResult:
    """The best of all judged plans, and the cost of each evaluation."""

    best: Fused
    costs: np.ndarray  # (evaluations,) seconds


Judge = Callable[[FusionProblem, np.ndarray], Fused]  # from levels to a plan and its cost; compilers differ in it


def judged(problem: FusionProblem, levels: np.ndarray) -> Fused:
    """The plan that the levels lead to, with its cost."""
    plan = plan_of(problem, levels)
    return Fused(levels, plan, seconds(problem, plan))


def best_default(problem: FusionProblem) -> Fused:
    """The best plan of the compilers' rules, expressed by levels (levels_of) and judged again as `judged` does.

    Raises Unsupported for a graph without operations, which no search can change.
    """
    if problem.n == 0:
        raise Unsupported("the graph has no operations")
    plans = [rule(problem) for rule in DEFAULTS.values()]
    return min((judged(problem, levels_of(problem, plan)) for plan in plans), key=lambda fused: fused.seconds)


def group_labels(problem: FusionProblem) -> np.ndarray:
    """(n,) labels: a group holds operations of one label. All loops share a label; other operations have their own."""
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
) -> SearchResult:
    """A search of that many evaluations, the start's included. Without `learn` the network does not learn."""
    best, costs = start, [start.seconds]
    while len(costs) < evaluations:
        count = min(settings.samples, evaluations - len(costs))
        drawn = draw_round(network, fusible, best, settings, count, rng, learn, judge)
        costs += [fused.seconds for fused in drawn]
        best = better(best, drawn)
    return SearchResult(best, np.array(costs))


def better(fused: Fused, drawn: list[Fused]) -> Fused:
    """The best plan of a round if it is not worse than the plan before; otherwise the plan before."""
    first = min(drawn, key=lambda candidate: candidate.seconds)
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
    plan_inputs = plan_numbers(fusible, state.levels, state.plan)
    with torch.no_grad():
        scores = network(fusible, plan_inputs)
        drawn = draw_moves(scores, problem, settings, count, rng)
        before = moves.log_probabilities(scores, drawn, settings.uniform)
    candidates = [judge(problem, levels) for levels in changed(state.levels, drawn)]
    if learn is not None:
        losses = np.sqrt([fused.seconds for fused in candidates])
        advantage = torch.tensor(advantages(losses, math.sqrt(state.seconds)), dtype=torch.float32)
        for _ in range(settings.epochs if bool(advantage.any()) else 0):
            scores = network(fusible, plan_inputs)
            ratio = (moves.log_probabilities(scores, drawn, settings.uniform) - before).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            learn(-torch.minimum(ratio * advantage, clipped * advantage).mean(), scores.size)
    return candidates


def draw_moves(
    scores: moves.Scores, problem: FusionProblem, settings: Settings, count: int, rng: np.random.Generator
) -> moves.Moves:
    """Moves of `count` changed levels: groups of connected loops, each with its new level."""
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(problem.edges, group_labels(problem), chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    counts = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    return moves.draw(scores, labels, groups, counts, 0.0, settings.uniform, rng)


def changed(levels: np.ndarray, drawn: moves.Moves) -> np.ndarray:
    """(S, n) int8: the levels after the moves."""
    decisions = Decisions(np.zeros((1, len(levels)), np.int8), levels[None])
    return moves.changed(decisions, drawn, 1).levels
