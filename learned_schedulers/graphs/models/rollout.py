"""The probability of each step of drawn schedules by a policy, forwards and backwards.

Several processes that share a step draw the same trajectories; each computes the probabilities of its own, and gets
all. So every process computes the whole loss; its gradient is that of its own trajectories, and the sum of the
gradients is the whole one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import torch

from learned_schedulers.graphs.models.heads import log_sums
from learned_schedulers.graphs.models.observation import Observation
from learned_schedulers.graphs.models.policy import Graph, Policy
from learned_schedulers.learning import processes

_OF_ROWS = ("rows", "operations", "candidates", "pairs", "allowed")  # of an observation; other tensors are of states


class Trajectories(NamedTuple):
    """B schedules of n operations, and the n + 1 states of each trajectory: B of step 0, B of step 1, ..."""

    observation: Observation  # of the (n + 1) B states
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


def log_probabilities(
    policy: Policy, graph: Graph, rollouts: Trajectories, condition: torch.Tensor
) -> LogProbabilities:
    """Log-probabilities of every step of the trajectories; condition: (B, N_CONDITIONS), with which they were drawn.

    What other processes computed has no gradient here. Raises ValueError for fewer trajectories than processes.
    """
    rank, world = processes.place()
    if world == 1:
        return _of_all(policy, graph, rollouts, condition)
    batch = len(rollouts.orders)
    if batch < world:
        raise ValueError(f"{batch} trajectories for {world} processes: raise `trajectories`, or start fewer processes")
    mine = torch.arange(batch)[rank::world]
    computed = torch.stack(_of_all(policy, graph, chosen(rollouts, mine), condition[mine]))
    whole = torch.zeros(*computed.shape[:2], batch).index_copy(2, mine, computed.detach())
    return LogProbabilities(*processes.summed(whole).index_copy(2, mine, computed))


def chosen(rollouts: Trajectories, mine: torch.Tensor) -> Trajectories:
    """The trajectories with the numbers `mine`, ascending."""
    batch, n = rollouts.orders.shape
    observation = rollouts.observation
    keeps = torch.zeros(batch, dtype=torch.bool).index_fill(0, mine, True)
    states, steps = keeps.repeat(n + 1), keeps.repeat(n)
    rows = states[observation.rows]
    columns = {
        field.name: getattr(observation, field.name)[rows if field.name in _OF_ROWS else states]
        for field in fields(observation)
    }
    columns["rows"] = (states.cumsum(0) - 1)[columns["rows"]]
    return Trajectories(
        Observation(**columns),
        (rows.cumsum(0) - 1)[rollouts.chosen[steps]],
        rollouts.devices[steps],
        rollouts.removable[steps],
        rollouts.orders[mine],
        rollouts.placements[mine],
    )


def _of_all(policy: Policy, graph: Graph, rollouts: Trajectories, condition: torch.Tensor) -> LogProbabilities:
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
    policy: Policy, graph: Graph, rollouts: Trajectories, context: torch.Tensor, condition: torch.Tensor
) -> torch.Tensor:
    """log P_B of each step, (n B,): of removing the operation that the step added, among all that may be removed."""
    if policy.settings.sequence == "by_start" or policy.settings.objective == "ppo":
        return torch.zeros(len(rollouts.devices), device=context.device)  # only one may be removed; PPO asks for none
    if policy.settings.backward == "uniform":
        return -rollouts.removable.sum(1).log()
    scores = policy.removals(graph, rollouts.observation, rollouts.orders.shape[0], context, condition)
    logs = scores.masked_fill(~rollouts.removable, -torch.inf).log_softmax(-1)
    return logs.gather(1, rollouts.devices[:, None])[:, 0]
