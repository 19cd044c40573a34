"""Rounds of refinement: decisions are drawn around the best one, judged, and the network learns from them (PPO).

Schulman et al. 2017, with the clipped objective; reward as in the paper: -sqrt(time / time of one device), and -10 for
what the memory does not hold, less by its excess, so that a way out of an invalid start can be seen.
"""

from __future__ import annotations

import math
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
_GAIN, _MOST_GAINS = 0.002, 5.0  # of the loss: what counts as 1, and how much counts at most


@dataclass
class State:
    """A problem and the best decision about it so far."""

    surroundings: Surroundings
    decisions: Decisions  # S = 1
    evaluated: Evaluated  # S = 1
    loss: float

    @staticmethod
    def begin(completion: Completion) -> State:
        """Everything left open: HEFT's schedule, one evaluation."""
        decisions = Decisions.open(len(completion.problem))
        evaluated = completion(decisions)
        return State(Surroundings.of(completion), decisions, evaluated, float(losses(completion, evaluated)[0]))


def losses(completion: Completion, evaluated: Evaluated) -> np.ndarray:
    """(S,) minus the reward."""
    alone = float(completion.problem.seconds.sum()) or 1.0
    return np.where(evaluated.fits, np.sqrt(evaluated.seconds / alone), INVALID * (1 + evaluated.excess))


@dataclass(frozen=True)
class Round:
    """What was drawn and judged in one round."""

    decisions: Decisions  # S
    evaluated: Evaluated
    losses: np.ndarray  # (S,)


def refine(
    network: WholeGraph,
    state: State,
    settings: Settings,
    count: int,
    rng: np.random.Generator,
    optimiser: torch.optim.Optimizer | None = None,
) -> Round:
    """Draw `count` decisions around the best one, judge them, learn from them, and keep the best in `state`."""
    surroundings, completion = state.surroundings, state.surroundings.completion
    problem = completion.problem
    read = standing(surroundings, state.decisions, state.evaluated)
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(problem.children, state.evaluated.placements[0], chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    number = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    with torch.no_grad():
        scores = network(surroundings, read)
        drawn = moves.draw(scores, labels, groups, number, settings.placing, settings.uniform, rng)
        before = moves.log_probabilities(scores, drawn, settings.uniform)
    decisions = moves.changed(state.decisions, drawn, problem.devices)
    evaluated = completion(decisions)
    loss = losses(completion, evaluated)
    if optimiser is not None:
        advantage = torch.tensor(advantages(loss, state.loss), dtype=torch.float32)
        for _ in range(settings.epochs):
            after = moves.log_probabilities(network(surroundings, read), drawn, settings.uniform)
            ratio = (after - before).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            objective = -torch.minimum(ratio * advantage, clipped * advantage).mean()
            optimiser.zero_grad()
            objective.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
    best = int(loss.argmin())
    if loss[best] <= state.loss:
        state.decisions, state.loss = decisions[[best]], float(loss[best])
        state.evaluated = Evaluated(
            evaluated.orders[[best]],
            evaluated.placements[[best]],
            evaluated.seconds[[best]],
            evaluated.ends[[best]],
            evaluated.peaks[[best]],
            evaluated.memory,
        )
    return Round(decisions, evaluated, loss)


def advantages(loss: np.ndarray, best: float) -> np.ndarray:
    """(S,) what each decision gains over the best one so far, and nothing where it gains nothing, above the mean.

    A search keeps the best of what it draws: how bad the others are does not matter.
    """
    gains = np.minimum(np.maximum(1 - loss / best, 0.0) / _GAIN, _MOST_GAINS)
    return gains - gains.mean()
