"""Changes of a decision, drawn from the network's scores: which groups of operations are decided anew, and how.

A decision is refined in rounds. In each round many changed decisions are drawn from one reading of the graph. Each has
some moves. A move draws a task, then a group of operations (problems/groups.py) by a softmax over groups, then the new
decision by the group's softmax over the task's choices. The score of a group is the mean score of its operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from learned_schedulers.graphs.devices.completion import OPEN, Decisions
from learned_schedulers.graphs.models.whole_graph.network import Scores


@dataclass(frozen=True)
class Moves:
    """S times at most K moves; padding has `counts` False."""

    labels: Tensor  # (S, n) int64, group of each operation
    groups: Tensor  # (S,) int64, number of groups
    placement: Tensor  # (S, K) bool: whether the move's task is the placement, otherwise the priority
    counts: Tensor  # (S, K) bool
    chosen: Tensor  # (S, K) int64, group
    choices: Tensor  # (S, K) int64, device (m: OPEN) or level


def draw(
    scores: Scores,
    labels: np.ndarray,
    groups: np.ndarray,
    moves: np.ndarray,
    share: float,
    uniform: float,
    rng: np.random.Generator,
) -> Moves:
    """Draw the moves of S changed decisions.

    labels, groups: (S, n), (S,) as returned by `drawn_groups`; moves: (S,), number of moves of each; share: of the
    moves that place; uniform: part of every probability that is equal for all groups, and for all choices.
    """
    most = int(moves.max(initial=1))
    counts = torch.from_numpy(np.arange(most)[None] < moves[:, None])
    placement = torch.from_numpy(rng.random(counts.shape) < share)
    uniforms = torch.from_numpy(rng.random((2, *counts.shape)))
    label, group = torch.from_numpy(labels), torch.from_numpy(groups)
    chosen, choices = torch.zeros(counts.shape, dtype=torch.int64), torch.zeros(counts.shape, dtype=torch.int64)
    for task in (True, False):
        turn, logits = _of_groups(scores, label, group, task)
        first = _drawn(_mixed(turn.double(), uniform), uniforms[0])  # (S, K)
        choice_probabilities = _mixed(_rows(logits.double(), first), uniform)  # (S, K, choices)
        second = _drawn(choice_probabilities.flatten(0, 1), uniforms[1].reshape(-1, 1)).view(first.shape)
        chosen = torch.where(placement == task, first, chosen)
        choices = torch.where(placement == task, second, choices)
    return Moves(label, group, placement, counts, chosen, choices)


def log_probabilities(scores: Scores, moves: Moves, uniform: float) -> Tensor:
    """(S,) log-probability of all moves of each changed decision; the tasks of moves are fixed and not counted."""
    total = torch.zeros(len(moves.labels))
    for task in (True, False):
        turn, logits = _of_groups(scores, moves.labels, moves.groups, task)
        groups = _mixed(turn, uniform).gather(1, moves.chosen).log()
        choices = _mixed(_rows(logits, moves.chosen), uniform)
        choices = choices.gather(2, moves.choices.clamp(max=choices.shape[2] - 1)[..., None]).squeeze(2).log()
        total = total + torch.where(moves.counts & (moves.placement == task), groups + choices, 0.0).sum(1)
    return total


def changed(decisions: Decisions, moves: Moves, devices: int) -> Decisions:
    """The S decisions that the moves make of one."""
    labels, choices = moves.labels.numpy(), moves.choices.numpy()
    count = len(labels)
    placed, levels = np.repeat(decisions.devices, count, 0), np.repeat(decisions.levels, count, 0)
    for k in range(choices.shape[1]):
        moved = (labels == moves.chosen[:, k].numpy()[:, None]) & moves.counts[:, k].numpy()[:, None]
        places = moves.placement[:, k].numpy()[:, None]
        device = np.where(choices[:, k] == devices, OPEN, choices[:, k]).astype(np.int8)[:, None]
        placed = np.where(moved & places, device, placed)
        levels = np.where(moved & ~places, choices[:, k].astype(np.int8)[:, None], levels)
    return Decisions(placed, levels)


def _of_groups(scores: Scores, labels: Tensor, groups: Tensor, placement: bool) -> tuple[Tensor, Tensor]:
    """Means over groups: scores of deciding anew, (S, G), -inf where there is no group; logits, (S, G, choices)."""
    turn = scores.placement_turn if placement else scores.priority_turn
    logits = scores.placement if placement else scores.priority
    count, most = len(labels), int(groups.max())
    values = torch.cat([turn[:, None], logits, torch.ones_like(turn)[:, None]], 1)  # (n, 1 + choices + 1)
    index = labels + most * torch.arange(count)[:, None]
    sums = values.new_zeros(count * most, values.shape[1])
    sums = sums.index_add(0, index.flatten(), values.expand(count, -1, -1).reshape(-1, values.shape[1]))
    means = (sums[:, :-1] / sums[:, -1:].clamp(min=1.0)).view(count, most, -1)
    absent = torch.arange(most) >= groups[:, None]
    return means[..., 0].masked_fill(absent, -torch.inf), means[..., 1:]


def _mixed(logits: Tensor, uniform: float) -> Tensor:
    """Probabilities along the last axis, mixed with uniform ones; 0 for logits of -inf."""
    possible = torch.isfinite(logits)
    same = possible / possible.sum(-1, keepdim=True)
    return (1 - uniform) * torch.softmax(logits, -1) + uniform * same


def _rows(values: Tensor, chosen: Tensor) -> Tensor:
    """values (S, G, C), chosen (S, K) -> (S, K, C)."""
    return values.gather(1, chosen[..., None].expand(-1, -1, values.shape[2]))


def _drawn(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """Indices by inverse transform; probabilities (R, C), uniforms (R, K) in [0, 1) -> (R, K) int64."""
    cumulative = probabilities.cumsum(1)
    return torch.searchsorted(cumulative, uniforms * cumulative[:, -1:], right=True).clamp(
        max=probabilities.shape[1] - 1
    )
