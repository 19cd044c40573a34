"""Fusion, placement and priority decided together: each task's network reads the decisions of the one before.

The placing network (models/whole_graph) reads the kernels of the present plan on their present devices. Its scores go
to the fusing network, for the operations of each kernel (the paper's recurrent layers between tasks). In every round
some of the drawn decisions change the plan and keep the devices; the others change devices or priorities and keep the
plan. Devices and priorities are stored for operations: a new kernel is on the device of its first result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kernel_graph import KernelGraph, kernel_graph
from learned_schedulers.graphs.compilers.levels import plan_of
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan
from learned_schedulers.graphs.devices.completion import OPEN, PLAIN, Completion, Decisions
from learned_schedulers.graphs.devices.evaluation import Evaluated
from learned_schedulers.graphs.models.fusing.fusing_network import Fusing
from learned_schedulers.graphs.models.fusing.fusing_search import changed, draw_moves
from learned_schedulers.graphs.models.fusing.numbers import Fusible, plan_numbers
from learned_schedulers.graphs.models.whole_graph import moves
from learned_schedulers.graphs.models.whole_graph.network import Scores, WholeGraph
from learned_schedulers.graphs.models.whole_graph.search import Learn, advantages
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.models.whole_graph.surroundings import (
    DEVICE_NUMBERS,
    SCHEDULE_NUMBERS,
    Standing,
    Surroundings,
    standing,
)
from learned_schedulers.graphs.problems.groups import drawn_groups
from learned_schedulers.graphs.problems.problem import Transfers


@dataclass(frozen=True)
class Machine:
    """Devices that are alike, and the link between any two."""

    devices: int
    transfers: Transfers


@dataclass(frozen=True)
class Scheduled:
    """A plan of fusion, and the schedule of its kernels on the devices."""

    levels: np.ndarray  # (n,) int8
    placed: np.ndarray  # (n,) int8: device of the kernel whose first result the operation is, or OPEN
    priorities: np.ndarray  # (n,) int8
    plan: Plan
    kernels: KernelGraph
    completion: Completion
    evaluated: Evaluated  # S = 1, of kernels

    @property
    def seconds(self) -> float:
        """The makespan."""
        return float(self.evaluated.seconds[0])

    @property
    def decisions(self) -> Decisions:
        """The decisions about its kernels, S = 1."""
        numbers = self.kernels.numbers
        return Decisions(self.placed[numbers][None], self.priorities[numbers][None])


def scheduled(
    problem: FusionProblem, machine: Machine, levels: np.ndarray, placed: np.ndarray, priorities: np.ndarray
) -> Scheduled:
    """The schedule that decisions about operations lead to; all are (n,)."""
    return schedule_of_plan(problem, machine, plan_of(problem, levels), levels, placed, priorities)


def schedule_of_plan(
    problem: FusionProblem,
    machine: Machine,
    plan: Plan,
    levels: np.ndarray,
    placed: np.ndarray,
    priorities: np.ndarray,
) -> Scheduled:
    """As `scheduled`, for a given plan."""
    kernels = kernel_graph(problem, plan, machine.devices, machine.transfers)
    completion = Completion(kernels.problem)
    numbers = kernels.numbers
    evaluated = completion(Decisions(placed[numbers][None], priorities[numbers][None]))
    return Scheduled(levels, placed, priorities, plan, kernels, completion, evaluated)


def undecided(problem: FusionProblem, machine: Machine, levels: np.ndarray) -> Scheduled:
    """The plan of the levels; HEFT places and orders its kernels."""
    return scheduled(problem, machine, levels, np.full(problem.n, OPEN, np.int8), np.full(problem.n, PLAIN, np.int8))


class Joint(nn.Module):
    """The placing network and the fusing network."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.placing = WholeGraph(settings)
        self.fusing = Fusing(settings, SCHEDULE_NUMBERS + DEVICE_NUMBERS)

    def place(self, surroundings: Surroundings, standing: Standing) -> Scores:
        """Scores of the kernels' placement and priority."""
        scores: Scores = self.placing(surroundings, standing)
        return scores

    def fuse(
        self, fusible: Fusible, plan: Tensor, standing: Standing, placing_scores: Scores, kernel: Tensor
    ) -> Scores:
        """Scores of the operations' levels; kernel: (n,), which kernel writes an operation's result, or NOT_WRITTEN."""
        chances = torch.softmax(placing_scores.placement[:, :-1], 1)  # (K, m)
        expected = (chances[..., None] * standing.devices).sum(1)  # (K, DEVICE_NUMBERS)
        numbers = torch.cat([standing.operations, expected], 1)
        placing_numbers = numbers[kernel.clamp(min=0)] * (kernel != NOT_WRITTEN)[:, None]
        scores: Scores = self.fusing(fusible, plan, placing_numbers)
        return scores


def search(
    network: Joint,
    fusible: Fusible,
    machine: Machine,
    start: Scheduled,
    fusing: float,
    evaluations: int,
    rng: np.random.Generator,
    learn: Learn | None = None,
) -> tuple[Scheduled, np.ndarray]:
    """The best schedule, and the makespan of each evaluation, the start's first. fusing: share of moves that fuse."""
    settings = network.settings
    best, costs = start, [start.seconds]
    while len(costs) < evaluations:
        count = min(settings.samples, evaluations - len(costs))
        fuse = int(rng.binomial(count, fusing))
        drawn = draw_round(network, fusible, machine, best, fuse, count - fuse, rng, learn)
        costs += [after.seconds for after in drawn]
        best_drawn = min(drawn, key=lambda after: after.seconds)
        best = best_drawn if best_drawn.seconds <= best.seconds else best
    return best, np.array(costs)


def draw_round(
    network: Joint,
    fusible: Fusible,
    machine: Machine,
    state: Scheduled,
    fuse: int,
    place: int,
    rng: np.random.Generator,
    learn: Learn | None = None,
) -> list[Scheduled]:
    """Draw decisions around the state's, `fuse` for the plan and `place` for the devices; judge them, and learn."""
    settings, problem = network.settings, fusible.problem
    surroundings = Surroundings.of(state.completion)
    placed_kernels = standing(surroundings, state.decisions, state.evaluated)
    plan_inputs = plan_numbers(fusible, state.levels, state.plan)
    kernel = torch.from_numpy(state.kernels.of_operation)

    def scores() -> tuple[Scores, Scores]:
        placing_scores = network.place(surroundings, placed_kernels)
        return placing_scores, network.fuse(fusible, plan_inputs, placed_kernels, placing_scores, kernel)

    with torch.no_grad():
        placing_scores, fusing_scores = scores()
        placing_moves = _placing_moves(placing_scores, state, settings, place, rng) if place else None
        fusing_moves = draw_moves(fusing_scores, problem, settings, fuse, rng) if fuse else None
        before = _log_probabilities(placing_scores, placing_moves, fusing_scores, fusing_moves, settings.uniform)
    candidates: list[Scheduled] = []
    if placing_moves is not None:
        candidates += _rescheduled(state, moves.changed(state.decisions, placing_moves, machine.devices))
    if fusing_moves is not None:
        for levels in changed(state.levels, fusing_moves):
            candidates.append(scheduled(problem, machine, levels, state.placed, state.priorities))
    if learn is not None:
        losses = np.sqrt([after.seconds for after in candidates])
        advantage = torch.tensor(advantages(losses, math.sqrt(state.seconds)), dtype=torch.float32)
        for _ in range(settings.epochs if bool(advantage.any()) else 0):
            placing_scores, fusing_scores = scores()
            ratio = (
                _log_probabilities(placing_scores, placing_moves, fusing_scores, fusing_moves, settings.uniform)
                - before
            ).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            learn(
                -torch.minimum(ratio * advantage, clipped * advantage).mean(), placing_scores.size + fusing_scores.size
            )
    return candidates


def _placing_moves(
    scores: Scores, state: Scheduled, settings: Settings, count: int, rng: np.random.Generator
) -> moves.Moves:
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(state.kernels.problem.children, state.evaluated.placements[0], chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    counts = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    return moves.draw(scores, labels, groups, counts, settings.placing, settings.uniform, rng)


def _log_probabilities(
    placing_scores: Scores,
    placing_moves: moves.Moves | None,
    fusing_scores: Scores,
    fusing_moves: moves.Moves | None,
    uniform: float,
) -> Tensor:
    parts = [(placing_scores, placing_moves), (fusing_scores, fusing_moves)]
    return torch.cat([moves.log_probabilities(scores, drawn, uniform) for scores, drawn in parts if drawn is not None])


def _rescheduled(state: Scheduled, decisions: Decisions) -> list[Scheduled]:
    """S schedules: the state's plan with other devices and priorities of its kernels."""
    evaluated, numbers = state.completion(decisions), state.kernels.numbers
    schedules = []
    for s in range(len(decisions.devices)):
        placed, priorities = state.placed.copy(), state.priorities.copy()
        placed[numbers], priorities[numbers] = decisions.devices[s], decisions.levels[s]
        schedules.append(replace(state, placed=placed, priorities=priorities, evaluated=evaluated[[s]]))
    return schedules
