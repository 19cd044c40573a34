"""Rounds of refinement: decisions are drawn around the best one, judged, and the network learns from them (PPO).

Schulman et al. 2017, with the clipped objective; reward as in the paper: -sqrt(time / time of one device), and -10 for
what the memory does not hold, less by its excess, so that a way out of an invalid start can be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.devices.completion import Completion, Decisions
from pipeline.graphs.devices.evaluation import Evaluated
from pipeline.graphs.models.whole_graph import moves
from pipeline.graphs.models.whole_graph.network import WholeGraph
from pipeline.graphs.models.whole_graph.surroundings import Surroundings, standing
from pipeline.graphs.problems.groups import drawn_groups

INVALID = 10.0
LONGEST_STEP = 1.0  # of a gradient
Learn = Callable[[torch.Tensor, torch.Tensor], None]  # of a round's objective, to be lowered, and the scores' size
_GAIN = 0.002  # of the loss: smaller gains count in proportion, larger ones by their logarithm


@dataclass
class State:
    """A problem and the decision that the next round starts from."""

    surroundings: Surroundings
    decisions: Decisions  # S = 1
    evaluated: Evaluated  # S = 1
    loss: float

    @staticmethod
    def begin(completion: Completion, placement: np.ndarray | None = None) -> State:
        """From everything left open, HEFT's schedule, or from a placement, (n,); one evaluation."""
        decisions = Decisions.open(len(completion.problem))
        if placement is not None:
            decisions = Decisions(placement[None].astype(np.int8), decisions.levels)
        evaluated = completion(decisions)
        return State(Surroundings.of(completion), decisions, evaluated, float(losses(completion, evaluated)[0]))


@dataclass(frozen=True)
class Round:
    """What was drawn and judged in one round."""

    decisions: Decisions  # S
    evaluated: Evaluated  # S
    losses: np.ndarray  # (S,)


@dataclass(frozen=True)
class Found:
    """The best of all that was judged, and what each evaluation cost."""

    best: Evaluated  # S = 1; where nothing fits the memory, what exceeds it least
    costs: np.ndarray  # (evaluations,) seconds; infinite where the memory does not hold it


class Learner:
    """Learns from each round by a step of its own."""

    def __init__(self, network: WholeGraph, rate: float) -> None:
        self._network, self._optimiser = network, torch.optim.Adam(network.parameters(), rate)

    def __call__(self, objective: torch.Tensor, size: torch.Tensor) -> None:
        self._optimiser.zero_grad()
        objective.backward()
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), LONGEST_STEP)
        self._optimiser.step()


def losses(completion: Completion, evaluated: Evaluated) -> np.ndarray:
    """(S,) minus the reward."""
    alone = float(completion.problem.seconds.sum()) or 1.0
    return np.where(evaluated.fits, np.sqrt(evaluated.seconds / alone), INVALID * (1 + evaluated.excess))


def search(
    network: WholeGraph,
    start: State,
    settings: Settings,
    shares: Sequence[float],
    evaluations: int,
    rng: np.random.Generator,
    learn: Learn | None = None,
) -> Found:
    """So many evaluations, that of the start among them.

    shares: of moves that place, of parts of equal length, one after the other: (1.0, 0.0) places first and then gives
    priorities. Without `learn` nothing is learned.
    """
    state, best = start, start
    costs = [start.evaluated.costs]
    left = evaluations - 1
    while left > 0:
        share = shares[min(len(shares) * (evaluations - left) // evaluations, len(shares) - 1)]
        count = min(settings.samples, left)
        drawn = draw_round(network, state, settings, share, count, rng, learn)
        costs.append(drawn.evaluated.costs)
        left -= count
        best = better(best, drawn)
        state = best if settings.rounds else start
    return Found(best.evaluated, np.concatenate(costs))


def better(state: State, drawn: Round) -> State:
    """The state after the best decision of a round, where that is as good as it; otherwise the state."""
    first = int(drawn.losses.argmin())
    if drawn.losses[first] > state.loss:
        return state
    return State(state.surroundings, drawn.decisions[[first]], drawn.evaluated[[first]], float(drawn.losses[first]))


def draw_round(
    network: WholeGraph,
    state: State,
    settings: Settings,
    share: float,
    count: int,
    rng: np.random.Generator,
    learn: Learn | None = None,
) -> Round:
    """Draw `count` decisions around that of the state, judge them, and learn from them. share: of moves that place."""
    surroundings, completion = state.surroundings, state.surroundings.completion
    problem = completion.problem
    read = standing(surroundings, state.decisions, state.evaluated)
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(problem.children, state.evaluated.placements[0], chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    number = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    with torch.no_grad():
        scores = network(surroundings, read)
        drawn = moves.draw(scores, labels, groups, number, share, settings.uniform, rng)
        before = moves.log_probabilities(scores, drawn, settings.uniform)
    decisions = moves.changed(state.decisions, drawn, problem.devices)
    evaluated = completion(decisions)
    loss = losses(completion, evaluated)
    if learn is not None:
        advantage = torch.tensor(advantages(loss, state.loss), dtype=torch.float32)
        for _ in range(settings.epochs if bool(advantage.any()) else 0):
            scores = network(surroundings, read)
            after = moves.log_probabilities(scores, drawn, settings.uniform)
            ratio = (after - before).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            learn(-torch.minimum(ratio * advantage, clipped * advantage).mean(), scores.size)
    return Round(decisions, evaluated, loss)


def advantages(loss: np.ndarray, best: float) -> np.ndarray:
    """(S,) what each decision gains over the one it was drawn around, and 0 where it gains nothing; less their mean.

    A search keeps the best of what it draws: how bad the others are does not matter (a deviation from the paper, whose
    baseline is the mean of all past rewards; with that, moves that change nothing are learned).
    """
    gains = np.log1p(np.maximum(1 - loss / best, 0.0) / _GAIN)
    return gains - gains.mean()
