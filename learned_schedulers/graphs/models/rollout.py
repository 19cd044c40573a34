"""Draws schedules from a policy, and computes the probability of each of their steps, forwards and backwards."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models.heads import log_sums
from learned_schedulers.graphs.models.policy import Policy


class Trajectories(NamedTuple):
    """B schedules of n operations, and the n + 1 states of each trajectory: B of step 0, B of step 1, ..."""

    observation: Any  # the policy's observation, of its own type, of the (n + 1) B states
    chosen: torch.Tensor  # (n B,) index into the operations that could be added
    devices: torch.Tensor  # (n B,) device of each step's operation
    removable: torch.Tensor  # (n B, m) bool: of the state after each step
    orders: torch.Tensor  # (B, n) operation of each step
    placements: torch.Tensor  # (B, n) device of each operation


class LogProbabilities(NamedTuple):
    """Numbers of every step, (n, B) each."""

    forward: torch.Tensor  # log P_F
    backward: torch.Tensor  # log P_B
    entropy: torch.Tensor  # of the choice of an operation, plus that of the choice of the chosen operation's device
    values: torch.Tensor  # the return that is expected of the state before the step


@torch.no_grad()
def schedules(
    policy: Policy,
    graph: Any,
    environment: Environment,
    tails: torch.Tensor,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """B schedules drawn from P_F: orders and placements, (B, n) each.

    graph: the result of `policy.read`; environment: B empty schedules, changed in place; tails: (n,) seconds of the
    longest path from an operation's start; condition: (B, N_CONDITIONS).
    """
    observe = policy.observer(environment, tails)
    orders = [_step(policy, graph, environment, observe(), condition, generator)[0] for _ in range(len(tails))]
    return torch.stack(orders, 1), environment.placement


@torch.no_grad()
def trajectories(
    policy: Policy,
    graph: Any,
    environment: Environment,
    tails: torch.Tensor,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> Trajectories:
    """As `schedules`, with everything that `log_probabilities` needs."""
    observe = policy.observer(environment, tails)
    observations, steps, removable = [], [], []
    before = 0
    for _ in range(len(tails)):
        observations.append(observe())
        operation, index, device = _step(policy, graph, environment, observations[-1], condition, generator)
        steps.append((operation, index + before, device))
        removable.append(environment.removable)
        before += len(observations[-1].rows)
    observations.append(observe())
    operations, chosen, devices = zip(*steps, strict=True)
    return Trajectories(
        type(observations[0]).joined(observations),
        torch.cat(chosen),
        torch.cat(devices),
        torch.cat(removable),
        torch.stack(operations, 1),
        environment.placement,
    )


def log_probabilities(policy: Policy, graph: Any, rollouts: Trajectories, condition: torch.Tensor) -> LogProbabilities:
    """Log-probabilities of every step of the trajectories; condition: (B, N_CONDITIONS), with which they were drawn."""
    batch, n = rollouts.orders.shape
    steps = n * batch
    conditions = condition.repeat(n + 1, 1)
    context = policy.contexts(graph, rollouts.observation)
    scores = policy.operations(graph, rollouts.observation, context, conditions)
    rows = rollouts.observation.rows
    logs = scores - log_sums(scores, rows, steps)[rows]
    devices = policy.devices(graph, rollouts.observation, rollouts.chosen, context[:steps], conditions[:steps])
    forward = logs[rollouts.chosen] + devices.gather(1, rollouts.devices[:, None])[:, 0]
    entropy = torch.zeros(steps, device=logs.device).index_add(0, rows, -logs * logs.exp())
    entropy = entropy - (devices.exp() * devices.masked_fill(devices.isinf(), 0.0)).sum(1)
    backward = _backward(policy, graph, rollouts, context[batch:], conditions[batch:])
    values = policy.values(context[:steps])
    return LogProbabilities(*(part.view(n, batch) for part in (forward, backward, entropy, values)))


def _backward(
    policy: Policy, graph: Any, rollouts: Trajectories, context: torch.Tensor, condition: torch.Tensor
) -> torch.Tensor:
    """log P_B of each step, (n B,): of removing the operation that the step added, among all that may be removed."""
    if policy.settings.sequence == "by_start":
        return torch.zeros(len(rollouts.devices), device=context.device)  # only one may be removed
    if policy.settings.backward == "uniform":
        return -rollouts.removable.sum(1).log()
    scores = policy.removals(graph, rollouts.observation, rollouts.orders.shape[0], context, condition)
    logs = scores.masked_fill(~rollouts.removable, -torch.inf).log_softmax(-1)
    return logs.gather(1, rollouts.devices[:, None])[:, 0]


def _step(
    policy: Policy,
    graph: Any,
    environment: Environment,
    observation: Any,
    condition: torch.Tensor,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Add an operation to every schedule; (B,) each: the operation, its index among the candidates, its device."""
    context = policy.contexts(graph, observation)
    scores = policy.operations(graph, observation, context, condition)
    index = _draw_rows(scores, observation.rows, environment.batch, generator)
    devices = policy.devices(graph, observation, index, context, condition)
    device = (devices + _gumbel(devices, generator)).argmax(1)
    operation = observation.operations[index]
    environment.step(operation, device)
    return operation, index, device


def _draw_rows(scores: torch.Tensor, rows: torch.Tensor, states: int, generator: torch.Generator) -> torch.Tensor:
    """An index into the rows of each state, (S,), drawn in proportion to exp(scores): the largest with Gumbel noise."""
    noisy = scores + _gumbel(scores, generator)
    most = torch.full((states,), -torch.inf, dtype=scores.dtype, device=scores.device)
    most = most.scatter_reduce(0, rows, noisy, "amax")
    largest = (noisy == most[rows]).nonzero()[:, 0].flip(0)
    return torch.zeros(states, dtype=torch.int64, device=scores.device).index_copy(0, rows[largest], largest)


def _gumbel(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    uniform = torch.rand(like.shape, generator=generator, dtype=torch.float64, device=like.device)
    return -torch.log(-torch.log(uniform.clamp_min(1e-300))).to(like.dtype)
