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
from torch.nn import functional as F

from learned_schedulers.graphs.devices.completion import LEVELS
from learned_schedulers.graphs.models.products import Linear
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
        self.sage = nn.ModuleList([Sage(width) for _ in range(settings.graph_layers)])
        attention = [_SegmentAttention(settings) for _ in range(settings.attention_layers)]
        self.attention = nn.ModuleList(attention if settings.attention else [])
        layers = len(self.sage) + len(self.attention)
        self.modulation = nn.ModuleList([Linear(width, width) for _ in range(layers if settings.modulation else 0)])
        self.on_device = nn.Sequential(Linear(width + DEVICE_NUMBERS, width), nn.ReLU(), zero_linear(width, 1))
        self.by_numbers = Linear(DEVICE_NUMBERS, 1, bias=False)  # directly from the operation's situation on a device
        self.left_open = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, 2))
        self.decided = Linear(DEVICE_NUMBERS, width)
        self.hand_over = _SegmentAttention(settings) if settings.recurrent_layers else None
        self.level = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, LEVELS + 1))
        nn.init.zeros_(self.by_numbers.weight)

    def forward(self, surroundings: Surroundings, standing: Standing) -> Scores:
        """Scores of a graph and its present schedule."""
        x = self.enter(torch.cat([surroundings.operations, standing.operations], 1))  # (n, width)
        whole = x.mean(0)  # vector of the graph; it modulates every layer (the paper's "superposition")
        for number, layer in enumerate([*self.sage, *self.attention]):
            x = layer(x, surroundings) if isinstance(layer, Sage) else layer(x)
            if self.settings.modulation:
                x = x * (1 + torch.tanh(self.modulation[number](whole)))
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


class Sage(nn.Module):
    """h_v' = f(h_v, max over parents, max over children of relu(W h)); in both directions, added to h_v."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_parents, self.from_children = Linear(width, width), Linear(width, width)
        self.merge = Linear(3 * width, width)

    def forward(self, x: Tensor, graph: Surroundings) -> Tensor:
        above = _most(torch.relu(self.from_parents(x)), graph.sources, graph.targets)
        below = _most(torch.relu(self.from_children(x)), graph.targets, graph.sources)
        return x + torch.relu(self.merge(torch.cat([x, above, below], 1)))


def _most(messages: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
    """The largest message to each operation, (n, width); 0 without a message; no message is negative."""
    index = targets[:, None].expand(-1, messages.shape[1])
    return torch.zeros_like(messages).scatter_reduce(0, index, messages[sources], "amax")


class _SegmentAttention(nn.Module):
    """Operations attend to their own segment and to the previous one, whose states carry no gradient.

    Transformer-XL (Dai et al. 2019) without positions, in the order of the operations' numbers, which is topological.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.segment, self.heads = settings.segment, settings.heads
        self.query, self.key_value, self.out = (
            Linear(width, width),
            Linear(width, 2 * width),
            Linear(width, width),
        )
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner = nn.Sequential(Linear(width, 2 * width), nn.ReLU(), Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        n, width = x.shape
        length = min(self.segment, n)
        count = -(-n // length)
        padding = count * length - n
        rows = F.pad(self.before(x), (0, 0, 0, padding)).view(count, length, width)
        earlier = torch.cat([torch.zeros_like(rows[:1]), rows[:-1].detach()])
        keys, values = self.key_value(torch.cat([earlier, rows], 1)).chunk(2, -1)  # (count, 2 length, width)
        visible = torch.ones(count, 1, 1, 2 * length, dtype=torch.bool)
        visible[0, ..., :length] = False
        if padding:
            visible[-1, ..., 2 * length - padding :] = False
        query, keys, values = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query(rows), keys, values)
        )
        # (count, heads, length, width / heads)
        attended = F.scaled_dot_product_attention(query, keys, values, attn_mask=visible)
        x = x + self.out(attended.transpose(1, 2).reshape(count * length, width)[:n])
        return x + self.inner(self.between(x))


def _bounded(scores: Tensor) -> Tensor:
    """Scores between -_BOUND and _BOUND: every choice keeps some probability, so that a search can return to it."""
    return _BOUND * torch.tanh(scores / _BOUND)


def zero_linear(inputs: int, outputs: int) -> nn.Linear:
    """A last layer whose outputs are 0 before training."""
    layer = Linear(inputs, outputs)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def save(network: WholeGraph, path: Path) -> None:
    """Write the weights with the settings."""
    weights.save(network, path, _KIND, network.settings.model_dump_json())


def load(path: Path) -> WholeGraph:
    """A trained network from its file. Raises ValueError if the file holds no such network."""
    return weights.load(path, _KIND, lambda described: WholeGraph(Settings.model_validate_json(described)))
