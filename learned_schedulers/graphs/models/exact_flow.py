"""The exact probability of every schedule that a policy may draw, for graphs of up to about seven operations.

A GFlowNet's policy promises schedules in proportion to their reward R (Zhang et al. 2023, section 3). Draws alone do
not show this: if there are many schedules, the counts of a perfect sampler lie as far from R / Z as those of a poor
one. Therefore P_F is pushed through all states, level by level; a level holds the states with equally many scheduled
operations. States and schedules that differ only in the names of devices count as one, as no policy sees these names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from learned_schedulers.graphs.devices.distances import chains
from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models.conditions import PLAIN, Strengths, condition
from learned_schedulers.graphs.models.flow_loss import log_partition
from learned_schedulers.graphs.models.heads import log_sums
from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.rollout import log_probabilities, trajectories
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.problems.problem import Problem

_PART = 5000  # trajectories that are drawn at a time
_ROUNDING = 1e-5  # of float32: how far the sum of all probabilities may be from 1


@dataclass(frozen=True)
class ExactFlow:
    """All X different schedules of n operations."""

    orders: np.ndarray  # (X, n) int64: operation of each step, of one of the trajectories to the schedule
    placements: np.ndarray  # (X, n) int64: device of each operation
    probability: np.ndarray  # (X,) float64: of being drawn by the policy
    makespans: np.ndarray  # (X,) float64 seconds
    log_rewards: np.ndarray  # (X,) float64: (speedup - devices) / sigma

    @property
    def log_z(self) -> float:
        """The logarithm of the sum of all rewards."""
        return float(np.logaddexp.reduce(self.log_rewards))

    @property
    def target(self) -> np.ndarray:
        """(X,) R / Z: the probabilities of a perfect policy."""
        return np.exp(self.log_rewards - self.log_z)

    @property
    def total_variation(self) -> float:
        """Half the sum of the absolute differences between probability and target: 0 to 1."""
        return float(np.abs(self.probability - self.target).sum() / 2)


class Draws(NamedTuple):
    """D schedules drawn from a policy."""

    counts: np.ndarray  # (X,) how often each schedule of an ExactFlow was drawn
    zetas: np.ndarray  # (D,) log R + log P_B - log P_F of each trajectory; the mean of their exponentials estimates Z


class Level(NamedTuple):
    """S different states with t scheduled operations each."""

    environment: Environment  # of S states
    observe: Callable[[], Any]  # returns what the policy sees of them
    followers: torch.Tensor  # (S, n) next operation on the same device, -1 for the last one, -2 if not scheduled
    orders: torch.Tensor  # (S, t)
    probability: torch.Tensor  # (S,) float64: of a trajectory that goes through the state


def distribution(policy: Policy, problem: Problem, sigma: float, strengths: Strengths = PLAIN) -> ExactFlow:
    """The distribution of the policy's schedules at this temperature.

    strengths: the transfers of the target, which the policy is told; its noise is not simulated.
    Raises ValueError if the probabilities do not sum to 1, and as `levels` does.
    """
    problem = strengths.transferring(problem)
    *_, last = levels(policy, problem, sigma, strengths)
    if abs(float(last.probability.sum()) - 1) > _ROUNDING:
        raise ValueError(f"the probabilities sum to {float(last.probability.sum())}; the policy is not normalised")
    makespans = last.environment.makespan.numpy()
    return ExactFlow(
        orders=last.orders.numpy(),
        placements=last.environment.placement.numpy(),
        probability=last.probability.numpy(),
        makespans=makespans,
        log_rewards=(problem.seconds.sum() / makespans - problem.devices) / sigma,
    )


@torch.no_grad()
def draw_schedules(policy: Policy, problem: Problem, sigma: float, flow: ExactFlow, count: int, seed: int) -> Draws:
    """Draws that many schedules, and counts them by the schedules of the policy's distribution for the proxy.

    Raises ValueError for a drawn schedule that the distribution does not contain.
    """
    graph, tails = policy.read(graph_view(problem)), torch.from_numpy(problem.tails.copy())
    generator = torch.Generator().manual_seed(seed)
    followers, zetas = [chains(flow.orders, flow.placements)], []
    for begin in range(0, count, _PART):
        size = min(_PART, count - begin)
        environment = Environment(problem, size, policy.settings.sequence)
        conditions = condition(problem, sigma, PLAIN, size)
        rollouts = trajectories(policy, graph, environment, tails, conditions, generator)
        logs = log_probabilities(policy, graph, rollouts, conditions)
        log_rewards = (problem.seconds.sum() / environment.makespan - problem.devices) / sigma
        zetas.append(log_partition(log_rewards, logs.forward.double(), logs.backward.double()).numpy())
        followers.append(chains(rollouts.orders.numpy(), rollouts.placements.numpy()))
    _, index = np.unique(np.concatenate(followers), axis=0, return_inverse=True)
    distribution_index, draw_index = np.split(index.reshape(-1), [len(flow.orders)])
    counts = np.bincount(draw_index, minlength=len(distribution_index))
    if len(counts) > len(distribution_index):
        raise ValueError(f"{len(counts) - len(distribution_index)} drawn schedules are not in the distribution")
    return Draws(counts[distribution_index], np.concatenate(zetas))


@torch.no_grad()
def levels(policy: Policy, problem: Problem, sigma: float, strengths: Strengths = PLAIN) -> list[Level]:
    """The states of each level that the policy may reach; [0] is the empty state, [n] the complete schedules.

    Raises ValueError for a policy that adds operations by start if some take no time: then a state is more than the
    sequence of operations on each device.
    """
    if policy.settings.sequence == "by_start" and not problem.seconds.all():
        raise ValueError(
            "operations that take no time may be added by start in several sequences; use a graph without them"
        )
    n = len(problem)
    graph = policy.read(graph_view(problem))
    condition_row = condition(problem, sigma, strengths, 1)
    no_orders, no_placement = torch.empty(1, 0, dtype=torch.int64), torch.full((1, n), -1)
    empty, observe = _replayed(policy, problem, no_orders, no_placement)
    states_by_level = [Level(empty, observe, torch.full((1, n), -2), no_orders, torch.ones(1).double())]
    for _ in range(n):
        states_by_level.append(_next_level(policy, problem, graph, condition_row, states_by_level[-1]))
    return states_by_level


def _replayed(
    policy: Policy, problem: Problem, orders: torch.Tensor, placement: torch.Tensor
) -> tuple[Environment, Callable[[], Any]]:
    """The states after these orders, (S, t), of operations on devices, (S, n), and the function that observes them.

    Some observers remember the steps that lead to a state, so all steps are taken again.
    """
    environment = Environment(problem, len(orders), policy.settings.sequence)
    observe = policy.observer(environment, torch.from_numpy(problem.tails.copy()))
    for operations in orders.T:
        observe()
        environment.step(operations, placement.gather(1, operations[:, None]).squeeze(1))
    return environment, observe


def _next_level(policy: Policy, problem: Problem, graph: Any, condition_row: torch.Tensor, level: Level) -> Level:
    """The states of the next level; equal ones are merged."""
    rows, operations, devices, log_probability = _actions(policy, graph, condition_row, level)
    probability = level.probability[rows] * log_probability.double().exp()
    before = level.environment.last[rows, devices]
    placement = level.environment.placement[rows]
    placement[torch.arange(len(rows)), operations] = devices
    followers, paths = level.followers[rows], torch.arange(len(rows))
    followers[paths, operations] = -1
    behind = before >= 0
    followers[paths[behind], before[behind]] = operations[behind]
    orders = torch.cat([level.orders[rows], operations[:, None]], 1)
    _, state = torch.unique(followers, dim=0, return_inverse=True)
    states = int(state.max()) + 1
    # One of the paths that lead to each state stands for it.
    path = torch.full((states,), len(paths)).scatter_reduce(0, state, paths, "amin")
    total = torch.zeros(states).double().index_add(0, state, probability)
    return Level(*_replayed(policy, problem, orders[path], placement[path]), followers[path], orders[path], total)


def _actions(policy: Policy, graph: Any, condition_row: torch.Tensor, level: Level) -> tuple[torch.Tensor, ...]:
    """State, operation, device and log P_F of every legal action; (A,) each."""
    environment = level.environment
    observation = level.observe()
    conditions = condition_row.expand(environment.batch, -1)
    context = policy.contexts(graph, observation)
    scores = policy.operations(graph, observation, context, conditions)
    logs = scores - log_sums(scores, observation.rows, environment.batch)[observation.rows]
    # A policy scores the devices of one operation in each state, so the state is repeated for each of its operations.
    rows = observation.rows
    repeated, candidates = replace(observation, tips=observation.tips[rows]), torch.arange(len(rows))
    logs = logs[:, None] + policy.devices(graph, repeated, candidates, context[rows], conditions[rows])
    index, devices = observation.allowed.nonzero(as_tuple=True)
    return rows[index], observation.operations[index], devices, logs[index, devices]
