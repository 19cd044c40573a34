"""Rounds of refinement: decisions are drawn around the best one, judged, and the network learns from them (PPO).

Schulman et al. 2017, with the clipped objective. The reward is the paper's: -sqrt(time / time of one device), and -10
where the memory is exceeded; less by the excess, so that the search sees a way out of an invalid start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from learned_schedulers.graphs.devices.completion import Completion, Decisions, Lead
from learned_schedulers.graphs.devices.evaluation import Evaluated
from learned_schedulers.graphs.models.whole_graph import moves
from learned_schedulers.graphs.models.whole_graph.network import WholeGraph
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.models.whole_graph.surroundings import Surroundings, standing
from learned_schedulers.graphs.problems.groups import drawn_groups
from learned_schedulers.graphs.problems.problem import Problem

INVALID = 10.0
LONGEST_STEP = 1.0  # of a gradient
Learn = Callable[
    [torch.Tensor, torch.Tensor], None
]  # called with a round's objective, to be minimised, and the scores' size
# Share of the graph's own order in the urgency, and reluctance (None: the default), of the schedules that a search may
# start from. The sequence is the greedy one on the training and development graphs of 2, 4 and 8 devices: each adds
# most to the best of those before. The first places 89% of these graphs within their memory, all six 94%. Where memory
# is unlimited, the first is HEFT's schedule.
LEADS = ((0.0, None), (1.0, 10.0), (0.6, 0.1), (0.0, 3.0), (0.0, 1.0), (0.1, 0.03))
_GAIN = 0.002  # of the loss: smaller gains count in proportion, larger ones logarithmically


@dataclass
class State:
    """A problem and the decision that the next round starts from."""

    surroundings: Surroundings
    decisions: Decisions  # S = 1
    evaluated: Evaluated  # S = 1
    loss: float

    @staticmethod
    def begin(completion: Completion, placement: np.ndarray | None = None) -> State:
        """The state of a placement, (n,), or of the schedule where all operations are open; one evaluation."""
        decisions = Decisions.open(len(completion.problem))
        if placement is not None:
            decisions = Decisions(placement[None].astype(np.int8), decisions.levels)
        evaluated = completion(decisions)
        return State(Surroundings.of(completion), decisions, evaluated, float(losses(completion, evaluated)[0]))


def begin(problem: Problem, evaluations: int) -> tuple[State, np.ndarray]:
    """The best state of at most that many of LEADS, where all operations are open, and the costs of each, (e,)."""
    undecided = Decisions.open(len(problem))
    completions = [Completion(problem, Lead.of(problem, *lead)) for lead in LEADS[: max(evaluations, 1)]]
    schedules = [completion(undecided) for completion in completions]
    loss = [float(losses(*pair)[0]) for pair in zip(completions, schedules, strict=True)]
    best = int(np.argmin(loss))
    state = State(Surroundings.of(completions[best]), undecided, schedules[best], loss[best])
    return state, np.concatenate([schedule.costs for schedule in schedules])


@dataclass(frozen=True)
class Round:
    """The decisions that one round drew and judged."""

    decisions: Decisions  # S
    evaluated: Evaluated  # S
    losses: np.ndarray  # (S,)


@dataclass(frozen=True)
class SearchResult:
    """The best judged schedule, and the cost of each evaluation."""

    best: Evaluated  # S = 1; if nothing fits the memory, the schedule that exceeds it least
    costs: np.ndarray  # (evaluations,) seconds; infinite where the memory is exceeded


class Learner:
    """Takes a step of its own optimiser after each round."""

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
    spent: np.ndarray | None = None,
) -> SearchResult:
    """A search of that many evaluations, those before it included.

    shares: of the moves that place, for parts of the search of equal length: (1.0, 0.0) first places and then gives
    priorities. Without `learn` the network does not learn. spent: costs of the evaluations before, (e,); by default
    there was one, the start's.
    """
    state, best = start, start
    costs = [start.evaluated.costs if spent is None else spent]
    remaining = evaluations - len(costs[0])
    while remaining > 0:
        share = shares[min(len(shares) * (evaluations - remaining) // evaluations, len(shares) - 1)]
        count = min(settings.samples, remaining)
        drawn = draw_round(network, state, settings, share, count, rng, learn)
        costs.append(drawn.evaluated.costs)
        remaining -= count
        best = better(best, drawn)
        state = best if settings.rounds else start
    return SearchResult(best.evaluated, np.concatenate(costs))


def better(state: State, drawn: Round) -> State:
    """The state of the best decision of a round if it is not worse than the state; otherwise the state."""
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
    """Draw `count` decisions around the state's, judge them, and learn from them. share: of moves that place."""
    surroundings, completion = state.surroundings, state.surroundings.completion
    problem = completion.problem
    schedule_inputs = standing(surroundings, state.decisions, state.evaluated)
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(problem.children, state.evaluated.placements[0], chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    counts = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    with torch.no_grad():
        scores = network(surroundings, schedule_inputs)
        drawn = moves.draw(scores, labels, groups, counts, share, settings.uniform, rng)
        before = moves.log_probabilities(scores, drawn, settings.uniform)
    decisions = moves.changed(state.decisions, drawn, problem.devices)
    evaluated = completion(decisions)
    loss = losses(completion, evaluated)
    if learn is not None:
        advantage = torch.tensor(advantages(loss, state.loss), dtype=torch.float32)
        for _ in range(settings.epochs if bool(advantage.any()) else 0):
            scores = network(surroundings, schedule_inputs)
            after = moves.log_probabilities(scores, drawn, settings.uniform)
            ratio = (after - before).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            learn(-torch.minimum(ratio * advantage, clipped * advantage).mean(), scores.size)
    return Round(decisions, evaluated, loss)


def advantages(loss: np.ndarray, best: float) -> np.ndarray:
    """(S,) gain of each decision over the one that it was drawn around, 0 if there is none; less the mean of the gains.

    A search keeps only the best of its draws, so it does not matter how bad the others are (a deviation from the paper,
    whose baseline is the mean of all past rewards; with that baseline, moves that change nothing are learned).
    """
    gains = np.log1p(np.maximum(1 - loss / best, 0.0) / _GAIN)
    return gains - gains.mean()
