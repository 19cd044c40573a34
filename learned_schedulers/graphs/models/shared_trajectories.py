"""Trajectories of a step that several processes share: each computes the probabilities of its own, and gets all.

All processes draw the same trajectories. Losses join the probabilities of all of them, so every process computes the
whole loss; its gradient is that of the process's own trajectories, and the gradients' sum is the whole one.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch

from learned_schedulers.graphs.models import rollout
from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.rollout import LogProbabilities, Trajectories
from learned_schedulers.learning import processes

_OF_ROWS = ("rows", "operations", "candidates", "pairs", "allowed")  # of an observation; other tensors are of states


def log_probabilities(policy: Policy, graph: Any, rollouts: Trajectories, condition: torch.Tensor) -> LogProbabilities:
    """As rollout.log_probabilities; what other processes computed has no gradient here.

    Raises ValueError if there are fewer trajectories than processes.
    """
    rank, world = processes.place()
    if world == 1:
        return rollout.log_probabilities(policy, graph, rollouts, condition)
    batch = len(rollouts.orders)
    if batch < world:
        raise ValueError(f"{batch} trajectories for {world} processes: raise `trajectories`, or start fewer processes")
    mine = torch.arange(batch)[rank::world]
    computed = torch.stack(rollout.log_probabilities(policy, graph, chosen(rollouts, mine), condition[mine]))
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
        type(observation)(**columns),
        (rows.cumsum(0) - 1)[rollouts.chosen[steps]],
        rollouts.devices[steps],
        rollouts.removable[steps],
        rollouts.orders[mine],
        rollouts.placements[mine],
    )
