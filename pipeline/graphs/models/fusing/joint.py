"""Fusion, placement and priority decided together: what one task's network says is read by the next one's.

The placing network (models/whole_graph) reads the kernels of the plan so far, on the devices that they are on so far;
what it says goes on to the fusing network, for the operations of each kernel (the paper's recurrent layers between
tasks). In every round some drawn decisions change the plan and keep devices, the others change devices or priorities
and keep the plan. Devices and priorities are kept for operations: a new kernel is where its first result was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.config.whole_graph import WholeGraph as Settings
from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.kernel_graph import KernelGraph, kernel_graph
from pipeline.graphs.compilers.levels import plan_of
from pipeline.graphs.compilers.plan import NOT_WRITTEN, Plan
from pipeline.graphs.devices.completion import OPEN, PLAIN, Completion, Decisions
from pipeline.graphs.devices.evaluation import Evaluated
from pipeline.graphs.models.fusing.fusing_network import Fusing
from pipeline.graphs.models.fusing.fusing_search import changed, draw_moves
from pipeline.graphs.models.fusing.numbers import Fusible, of_plan
from pipeline.graphs.models.whole_graph import moves
from pipeline.graphs.models.whole_graph.network import Scores, WholeGraph
from pipeline.graphs.models.whole_graph.search import Learn, advantages
from pipeline.graphs.models.whole_graph.surroundings import (
    DEVICE_NUMBERS,
    SCHEDULE_NUMBERS,
    Standing,
    Surroundings,
    standing,
)
from pipeline.graphs.problems.groups import drawn_groups
from pipeline.graphs.problems.problem import Transfers


@dataclass(frozen=True)
class Machine:
    """Devices that are alike, and the link between any two."""

    devices: int
    transfers: Transfers


@dataclass(frozen=True)
class Scheduled:
    """A plan of fusion, and what its kernels take on the devices."""

    levels: np.ndarray  # (n,) int8
    placed: np.ndarray  # (n,) int8: device of the kernel whose first result it is, or OPEN
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
        """Of its kernels, S = 1."""
        numbers = self.kernels.numbers
        return Decisions(self.placed[numbers][None], self.priorities[numbers][None])


def scheduled(
    problem: FusionProblem, machine: Machine, levels: np.ndarray, placed: np.ndarray, priorities: np.ndarray
) -> Scheduled:
    """What decisions about operations lead to; all (n,)."""
    return of_plan_scheduled(problem, machine, plan_of(problem, levels), levels, placed, priorities)


def of_plan_scheduled(
    problem: FusionProblem,
    machine: Machine,
    plan: Plan,
    levels: np.ndarray,
    placed: np.ndarray,
    priorities: np.ndarray,
) -> Scheduled:
    """As `scheduled`, of a plan that is there."""
    kernels = kernel_graph(problem, plan, machine.devices, machine.transfers)
    completion = Completion(kernels.problem)
    numbers = kernels.numbers
    evaluated = completion(Decisions(placed[numbers][None], priorities[numbers][None]))
    return Scheduled(levels, placed, priorities, plan, kernels, completion, evaluated)


def undecided(problem: FusionProblem, machine: Machine, levels: np.ndarray) -> Scheduled:
    """The plan of levels, its kernels placed and ordered as by HEFT."""
    return scheduled(problem, machine, levels, np.full(problem.n, OPEN, np.int8), np.full(problem.n, PLAIN, np.int8))


class Joint(nn.Module):
    """Both networks."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.placing = WholeGraph(settings)
        self.fusing = Fusing(settings, SCHEDULE_NUMBERS + DEVICE_NUMBERS)

    def place(self, surroundings: Surroundings, read: Standing) -> Scores:
        """Scores of kernels."""
        scores: Scores = self.placing(surroundings, read)
        return scores

    def fuse(self, fusible: Fusible, plan: Tensor, read: Standing, said: Scores, kernel: Tensor) -> Scores:
        """Scores of operations; kernel: (n,), which kernel writes an operation's result, NOT_WRITTEN for none."""
        chances = torch.softmax(said.placement[:, :-1], 1)  # (K, m)
        expected = (chances[..., None] * read.devices).sum(1)  # (K, DEVICE_NUMBERS)
        numbers = torch.cat([read.operations, expected], 1)
        handed = numbers[kernel.clamp(min=0)] * (kernel != NOT_WRITTEN)[:, None]
        scores: Scores = self.fusing(fusible, plan, handed)
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
    """The best schedule and the makespan of each evaluation, the start's first. fusing: share that fuses."""
    settings = network.settings
    best, costs = start, [start.seconds]
    while len(costs) < evaluations:
        count = min(settings.samples, evaluations - len(costs))
        fuse = int(rng.binomial(count, fusing))
        drawn = draw_round(network, fusible, machine, best, fuse, count - fuse, rng, learn)
        costs += [after.seconds for after in drawn]
        first = min(drawn, key=lambda after: after.seconds)
        best = first if first.seconds <= best.seconds else best
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
    """Draw decisions around those of the state, `fuse` of the plan and `place` of the rest; judge, and learn."""
    settings, problem = network.settings, fusible.problem
    surroundings = Surroundings.of(state.completion)
    read = standing(surroundings, state.decisions, state.evaluated)
    numbers = of_plan(fusible, state.levels, state.plan)
    kernel = torch.from_numpy(state.kernels.of_operation)

    def scores() -> tuple[Scores, Scores]:
        said = network.place(surroundings, read)
        return said, network.fuse(fusible, numbers, read, said, kernel)

    with torch.no_grad():
        said, fused = scores()
        placing = _placing_moves(said, state, settings, place, rng) if place else None
        fusing = draw_moves(fused, problem, settings, fuse, rng) if fuse else None
        before = _log_probabilities(said, placing, fused, fusing, settings.uniform)
    found: list[Scheduled] = []
    if placing is not None:
        found += _replaced(state, moves.changed(state.decisions, placing, machine.devices))
    if fusing is not None:
        for levels in changed(state.levels, fusing):
            found.append(scheduled(problem, machine, levels, state.placed, state.priorities))
    if learn is not None:
        losses = np.sqrt([after.seconds for after in found])
        advantage = torch.tensor(advantages(losses, math.sqrt(state.seconds)), dtype=torch.float32)
        for _ in range(settings.epochs if bool(advantage.any()) else 0):
            said, fused = scores()
            ratio = (_log_probabilities(said, placing, fused, fusing, settings.uniform) - before).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            learn(-torch.minimum(ratio * advantage, clipped * advantage).mean(), said.size + fused.size)
    return found


def _placing_moves(
    said: Scores, state: Scheduled, settings: Settings, count: int, rng: np.random.Generator
) -> moves.Moves:
    chances = np.where(rng.random(count) < settings.alone, 0.0, np.sqrt(rng.random(count)))
    labels, groups = drawn_groups(state.kernels.problem.children, state.evaluated.placements[0], chances, rng)
    mean = np.exp(rng.random(count) * math.log(settings.most_moves)) - 1
    number = np.minimum(1 + rng.poisson(mean), 4 * settings.most_moves)
    return moves.draw(said, labels, groups, number, settings.placing, settings.uniform, rng)


def _log_probabilities(
    said: Scores, placing: moves.Moves | None, fused: Scores, fusing: moves.Moves | None, uniform: float
) -> Tensor:
    parts = [(said, placing), (fused, fusing)]
    return torch.cat([moves.log_probabilities(scores, drawn, uniform) for scores, drawn in parts if drawn is not None])


def _replaced(state: Scheduled, decisions: Decisions) -> list[Scheduled]:
    """The state with other devices and priorities of its kernels, S of them."""
    evaluated, numbers = state.completion(decisions), state.kernels.numbers
    found = []
    for s in range(len(decisions.devices)):
        placed, priorities = state.placed.copy(), state.priorities.copy()
        placed[numbers], priorities[numbers] = decisions.devices[s], decisions.levels[s]
        found.append(replace(state, placed=placed, priorities=priorities, evaluated=evaluated[[s]]))
    return found
