"""Small policies in which every weight has an effect, and the probabilities of their next steps in a state."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused
from learned_schedulers.graphs.models.conditions import Strengths, condition
from learned_schedulers.graphs.models.policy import Policy, make
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from tests.graphs.models.observer import Observer
from tests.graphs.problems import drawn

SETTINGS = Settings(
    training=["training"],
    development="development",
    width=8,
    layers=1,
    hidden=8,
    steps=20,
    trajectories=16,
    learning_rate=0.01,
    warmup=2,
    measurements=4,
)
SIGMA = 0.5  # about what is at stake in graphs of these sizes, so that probabilities are neither all equal nor 0 and 1
_LARGER = 1.5  # factor by which weights are larger than torch draws them
TOLD = Strengths(slope=0.7, delay=0.2, noise=0.3)

Steps = list[tuple[int, int]]  # operation and device of each step


def settings(**changes: object) -> Settings:
    return Settings.model_validate(SETTINGS.model_dump() | changes)


def policy(seed: int = 0, **changes: object) -> Policy:
    """An untrained policy; weights that are 0 before training are drawn, too, and all are large enough to matter."""
    torch.manual_seed(seed)
    untrained = make(settings(**changes))
    with torch.no_grad():
        for parameter in untrained.parameters():
            if parameter.any():
                parameter *= _LARGER
            else:
                torch.nn.init.normal_(parameter)
    return untrained.eval()


def problem(seed: int, n: int = 7, devices: int = 3, density: float = 0.25) -> Problem:
    """A problem without transfers; some operations take no time."""
    return replace(drawn.problem(np.random.default_rng(seed), n, devices, density), transfers=Transfers())


class Next(NamedTuple):
    """Probabilities of the next steps from a state, forwards and backwards."""

    forward: np.ndarray  # (n, m) P_F of every operation on every device
    backward: np.ndarray  # (m,) P_B of removing the last operation of every device
    entropies: np.ndarray  # (1 + n,) of the choice of an operation; of the device of each one


@torch.no_grad()
def steps(policy: Policy, problem: Problem, seed: int, strengths: Strengths = TOLD) -> Steps:
    """A whole schedule, drawn from the policy."""
    moved = strengths.transferring(problem)
    environment = Environment(moved, 1, policy.settings.sequence)
    conditions, generator = condition(problem, SIGMA, strengths, 1), torch.Generator().manual_seed(seed)
    graph = policy.read(graph_view(problem))
    order, placement = fused.schedules(policy, graph, moved, environment, conditions, generator)
    return [(i, int(placement[0, i])) for i in order[0].tolist()]


@torch.no_grad()
def probabilities(
    policy: Policy, problem: Problem, steps: Steps, sigma: float = SIGMA, strengths: Strengths = TOLD
) -> Next:
    """Probabilities in the state after some steps; each of n equal schedules chooses another operation."""
    n, m = len(problem), problem.devices
    environment = Environment(strengths.transferring(problem), n, policy.settings.sequence)
    conditions, graph = condition(problem, sigma, strengths, n), policy.read(graph_view(problem))
    observe = Observer(environment, torch.from_numpy(problem.tails))
    for operation, device in steps:
        environment.step(torch.full((n,), operation), torch.full((n,), device))
    observation = observe()
    context = policy.contexts(graph, observation)
    removals = policy.removals(graph, observation, 0, context, conditions)[0].masked_fill(
        ~observation.removable[0], -torch.inf
    )
    forward, entropies = np.zeros((n, m)), np.zeros(1 + n)
    if count := len(observation.rows) // n:
        of_operations = (
            policy.operations(graph, observation, context, conditions)[:count].log_softmax(0).double().numpy()
        )
        chosen = torch.arange(n) * count + torch.arange(n) % count
        of_devices = policy.devices(graph, observation, chosen, context, conditions)[:count].double().numpy()
        operations = observation.operations[:count].numpy()
        forward[operations] = np.exp(of_operations[:, None] + of_devices)
        entropies[0] = _entropy(np.exp(of_operations))
        entropies[1 + operations] = [_entropy(np.exp(row)) for row in of_devices]
    return Next(forward, removals.softmax(0).nan_to_num().double().numpy(), entropies)


def _entropy(probabilities: np.ndarray) -> float:
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum())
