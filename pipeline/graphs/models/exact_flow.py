"""Which schedules a policy draws, and how probable each is, exactly: for graphs of up to about seven operations.

A policy of a GFlowNet promises schedules in proportion to their reward R (Zhang et al. 2023, section 3). Draws alone
cannot tell: where schedules are many, the counts of a perfect sampler lie as far from R / Z as those of a poor one. So
P_F is pushed through all states, level by level; a level has the states with equally many scheduled operations. States
and schedules are taken up to the names of devices, which no policy sees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from pipeline.graphs.environment.batched import Environment
from pipeline.graphs.models.conditions import PLAIN, Strengths, condition
from pipeline.graphs.models.flow_loss import log_partition
from pipeline.graphs.models.heads import log_sums
from pipeline.graphs.models.policy import Policy
from pipeline.graphs.models.rollout import log_probabilities, trajectories
from pipeline.graphs.models.topoformer import graph_view
from pipeline.graphs.problems.problem import Problem

_PART = 5000  # trajectories at a time
_ROUNDING = 1e-5  # of float32: how far from 1 all probabilities together may be


@dataclass(frozen=True)
class ExactFlow:
    """All X schedules of n operations, each once."""

    orders: np.ndarray  # (X, n) int64: operation of each step of one trajectory that leads to it
    placements: np.ndarray  # (X, n) int64: device of each operation
    probability: np.ndarray  # (X,) float64: that the policy draws it
    makespans: np.ndarray  # (X,) float64 seconds
    log_rewards: np.ndarray  # (X,) float64: (speedup - devices) / sigma

    @property
    def log_z(self) -> float:
        """The logarithm of the sum of all rewards."""
        return float(np.logaddexp.reduce(self.log_rewards))

    @property
    def target(self) -> np.ndarray:
        """(X,) R / Z: what the probabilities should be."""
        return np.exp(self.log_rewards - self.log_z)

    @property
    def total_variation(self) -> float:
        """Half the sum of all differences between probability and target: 0 to 1."""
        return float(np.abs(self.probability - self.target).sum() / 2)


class Draws(NamedTuple):
    """What a policy draws: D schedules."""

    counts: np.ndarray  # (X,) of each schedule of an ExactFlow
    zetas: np.ndarray  # (D,) log R + log P_B - log P_F of the trajectories; the mean of their exponentials is Z


class Level(NamedTuple):
    """S different states with t scheduled operations each."""

    environment: Environment  # of S states
    observe: Callable[[], Any]  # what the policy sees of them
    followers: torch.Tensor  # (S, n) operation behind each one on its device, -1 for the last, -2 if not scheduled
    orders: torch.Tensor  # (S, t)
    probability: torch.Tensor  # (S,) float64: that a trajectory goes through the state


def distribution(policy: Policy, problem: Problem, sigma: float, strengths: Strengths = PLAIN) -> ExactFlow:
    """What the policy draws at this temperature. strengths: the transfers of the target, as it is told; no noise.

    Raises ValueError where the probabilities do not sum to 1, and as `levels` does.
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
def drawn(policy: Policy, problem: Problem, sigma: float, flow: ExactFlow, count: int, seed: int) -> Draws:
    """That many schedules, and which of the policy's distribution for the proxy they are.

    Raises ValueError for a schedule that the distribution does not have.
    """
    graph, tails = policy.read(graph_view(problem)), torch.from_numpy(problem.tails.copy())
    generator = torch.Generator().manual_seed(seed)
    followers, zetas = [_followers(flow.orders, flow.placements)], []
    for begin in range(0, count, _PART):
        size = min(_PART, count - begin)
        environment, told = Environment(problem, size, policy.settings.sequence), condition(problem, sigma, PLAIN, size)
        made = trajectories(policy, graph, environment, tails, told, generator)
        logs = log_probabilities(policy, graph, made, told)
        log_rewards = (problem.seconds.sum() / environment.makespan - problem.devices) / sigma
        zetas.append(log_partition(log_rewards, logs.forward.double(), logs.backward.double()).numpy())
        followers.append(_followers(made.orders.numpy(), made.placements.numpy()))
    _, index = np.unique(np.concatenate(followers), axis=0, return_inverse=True)
    known, of_draws = np.split(index.reshape(-1), [len(flow.orders)])
    counts = np.bincount(of_draws, minlength=len(known))
    if len(counts) > len(known):
        raise ValueError(f"{len(counts) - len(known)} drawn schedules are none of the distribution's {len(known)}")
    return Draws(counts[known], np.concatenate(zetas))


def _followers(orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
    """(X, n) the operation behind each one on its device, -1 for the last: a schedule up to the names of devices."""
    count, n = orders.shape
    rows, followers = np.arange(count), np.full((count, n), -1)
    last = np.full((count, n and int(placements.max()) + 1), -1)
    for operations in orders.T:
        devices = placements[rows, operations]
        before = last[rows, devices]
        followers[rows[before >= 0], before[before >= 0]] = operations[before >= 0]
        last[rows, devices] = operations
    return followers


@torch.no_grad()
def levels(policy: Policy, problem: Problem, sigma: float, strengths: Strengths = PLAIN) -> list[Level]:
    """The states of each level that the policy may reach; [0] the empty one, [n] whole schedules.

    Raises ValueError for a policy that adds operations by start, where some take no time: then a state has more than
    its operations on each device.
    """
    if policy.settings.sequence == "by_start" and not problem.seconds.all():
        raise ValueError("operations that take no time may be added by start in several sequences")
    n = len(problem)
    graph = policy.read(graph_view(problem))
    told = condition(problem, sigma, strengths, 1)
    no_orders, nowhere = torch.empty(1, 0, dtype=torch.int64), torch.full((1, n), -1)
    empty, observe = _walked(policy, problem, no_orders, nowhere)
    each = [Level(empty, observe, torch.full((1, n), -2), no_orders, torch.ones(1).double())]
    for _ in range(n):
        each.append(_next(policy, problem, graph, told, each[-1]))
    return each


def _walked(
    policy: Policy, problem: Problem, orders: torch.Tensor, placement: torch.Tensor
) -> tuple[Environment, Callable[[], Any]]:
    """The states behind these orders, (S, t), of operations on devices, (S, n), and what observes them.

    Some observers remember the steps to a state, so all are taken again.
    """
    environment = Environment(problem, len(orders), policy.settings.sequence)
    observe = policy.observer(environment, torch.from_numpy(problem.tails.copy()))
    for operations in orders.T:
        observe()
        environment.step(operations, placement.gather(1, operations[:, None]).squeeze(1))
    return environment, observe


def _next(policy: Policy, problem: Problem, graph: Any, told: torch.Tensor, level: Level) -> Level:
    """All states that an action leads to, equal ones merged."""
    rows, operations, devices, log_probability = _actions(policy, graph, told, level)
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
    one = torch.full((states,), len(paths)).scatter_reduce(0, state, paths, "amin")  # of the paths that lead to each
    total = torch.zeros(states).double().index_add(0, state, probability)
    return Level(*_walked(policy, problem, orders[one], placement[one]), followers[one], orders[one], total)


def _actions(policy: Policy, graph: Any, told: torch.Tensor, level: Level) -> tuple[torch.Tensor, ...]:
    """State, operation, device and log P_F of every action that may be taken; (A,) each."""
    environment = level.environment
    seen = level.observe()
    every = told.expand(environment.batch, -1)
    context = policy.contexts(graph, seen)
    scores = policy.operations(graph, seen, context, every)
    logs = scores - log_sums(scores, seen.rows, environment.batch)[seen.rows]
    # Devices of one operation in each state are what a policy is asked for: so a state for each of its operations.
    apart, which = replace(seen, tips=seen.tips[seen.rows]), torch.arange(len(seen.rows))
    logs = logs[:, None] + policy.devices(graph, apart, which, context[seen.rows], every[seen.rows])
    index, devices = seen.allowed.nonzero(as_tuple=True)
    return seen.rows[index], seen.operations[index], devices, logs[index, devices]
