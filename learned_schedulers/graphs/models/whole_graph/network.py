"""GO's network (Zhou et al. 2020): GraphSAGE over the graph, recurrent attention by segments, a head for each task.

Memory is O(operations + edges). Where the paper leaves something open, the choice is stated here. Devices are alike,
and are treated alike: the score of an operation on a device is one function of its situation there, for any number of
devices (the paper has one output for each device, and so a network for each number of devices).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from learned_schedulers.graphs.devices.completion import LEVELS
from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.whole_graph.layers import SegmentAttention, read, stack, zero_linear
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.graphs.models.whole_graph.surroundings import (
    DEVICE_NUMBERS,
    GRAPH_NUMBERS,
    OPERATION_NUMBERS,
    SCHEDULE_NUMBERS,
    Standing,
    Surroundings,
)
from learned_schedulers.learning import weights

_KIND = "whole_graph"  # of its file of weights
_BOUND = 3.0


@dataclass(frozen=True)
class Scores:
    """The network's scores of every operation and task: logits of the choices, and of deciding anew."""

    placement: Tensor  # (n, m + 1): devices, then OPEN
    placement_turn: Tensor  # (n,)
    priority: Tensor  # (n, LEVELS)
    priority_turn: Tensor  # (n,)
    size: Tensor  # () mean of the squares of all scores before they are bounded


class WholeGraph(nn.Module):
    """Scores of all operations at once."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        width = settings.width
        inputs = OPERATION_NUMBERS + GRAPH_NUMBERS + SCHEDULE_NUMBERS
        self.enter = nn.Sequential(Linear(inputs, width), nn.ReLU(), Linear(width, width))
        self.sage, self.attention, self.modulation = stack(settings)
        self.on_device = nn.Sequential(Linear(width + DEVICE_NUMBERS, width), nn.ReLU(), zero_linear(width, 1))
        self.by_numbers = Linear(DEVICE_NUMBERS, 1, bias=False)  # directly from the operation's situation on a device
        self.left_open = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, 2))
        self.decided = Linear(DEVICE_NUMBERS, width)
        self.hand_over = SegmentAttention(settings) if settings.recurrent_layers else None
        self.level = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, LEVELS + 1))
        nn.init.zeros_(self.by_numbers.weight)

    def forward(self, surroundings: Surroundings, standing: Standing) -> Scores:
        """Scores of a graph and its present schedule."""
        x = self.enter(torch.cat([surroundings.operations, standing.operations], 1))  # (n, width)
        x = read(x, surroundings, self.sage, self.attention, self.modulation)
        situations = standing.devices  # (n, m, DEVICE_NUMBERS)
        pairs = torch.cat([x[:, None].expand(-1, situations.shape[1], -1), situations], 2)
        on_device = (self.on_device(pairs) + self.by_numbers(situations)).squeeze(-1)  # (n, m)
        left_open, turn = self.left_open(x).unbind(1)
        if self.hand_over is not None:  # the scores of the placement go to the next task
            expected = (torch.softmax(on_device, 1)[..., None] * situations).sum(1)
            x = self.hand_over(x + self.decided(expected))
        level = self.level(x)
        placement = torch.cat([on_device, left_open[:, None]], 1)
        parts = (placement, turn, level[:, :LEVELS], level[:, LEVELS])
        size = torch.stack([part.square().mean() for part in parts]).mean()
        placement, turn, level, level_turn = (_bounded(part) for part in parts)
        return Scores(placement, turn, level, level_turn, size)


def _bounded(scores: Tensor) -> Tensor:
    """Scores between -_BOUND and _BOUND: every choice keeps some probability, so that a search can return to it."""
    return _BOUND * torch.tanh(scores / _BOUND)


def save(network: WholeGraph, path: Path) -> None:
    """Write the weights with the settings."""
    weights.save(network, path, _KIND, network.settings.model_dump_json())


def load(path: Path) -> WholeGraph:
    """A trained network from its file. Raises ValueError if the file holds no such network."""
    return weights.load(path, _KIND, lambda described: WholeGraph(Settings.model_validate_json(described)))
