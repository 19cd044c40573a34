"""Layers that read a whole graph: GraphSAGE, attention by segments, and the gates by which a graph modulates both.

O(operations + edges) time and memory. Every network of GO (Zhou et al. 2020) is made of them.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.whole_graph.settings import Layers


class Linked(Protocol):
    """Operations with the E edges between them."""

    @property
    def sources(self) -> Tensor: ...  # (E,) int64

    @property
    def targets(self) -> Tensor: ...  # (E,) int64


class Sage(nn.Module):
    """h_v' = f(h_v, max over parents, max over children of relu(W h)); in both directions, added to h_v."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_parents, self.from_children = Linear(width, width), Linear(width, width)
        self.merge = Linear(3 * width, width)

    def forward(self, x: Tensor, graph: Linked) -> Tensor:
        above = _most(torch.relu(self.from_parents(x)), graph.sources, graph.targets)
        below = _most(torch.relu(self.from_children(x)), graph.targets, graph.sources)
        return x + torch.relu(self.merge(torch.cat([x, above, below], 1)))


def _most(messages: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
    """The largest message to each operation, (n, width); 0 without a message; no message is negative."""
    index = targets[:, None].expand(-1, messages.shape[1])
    return torch.zeros_like(messages).scatter_reduce(0, index, messages[sources], "amax")


class SegmentAttention(nn.Module):
    """Operations attend to their own segment and to the previous one, whose states carry no gradient.

    Transformer-XL (Dai et al. 2019) without positions, in the order of the operations' numbers, which is topological.
    """

    def __init__(self, settings: Layers) -> None:
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


def stack(settings: Layers) -> tuple[nn.ModuleList, nn.ModuleList, nn.ModuleList]:
    """Layers of GraphSAGE, of attention, and a gate for each of both; without those that an ablation leaves out."""
    sage = nn.ModuleList([Sage(settings.width) for _ in range(settings.graph_layers)])
    # Layers that are left out are made, too, so that the other weights are the same.
    attending = [SegmentAttention(settings) for _ in range(settings.attention_layers)]
    attention = nn.ModuleList(attending if settings.attention else [])
    gates = len(sage) + len(attention) if settings.modulation else 0
    return sage, attention, nn.ModuleList([Linear(settings.width, settings.width) for _ in range(gates)])


def read(x: Tensor, graph: Linked, sage: nn.ModuleList, attention: nn.ModuleList, gates: nn.ModuleList) -> Tensor:
    """(n, width) -> (n, width), through all layers of a `stack`.

    The mean over the graph gates every layer's output (the paper's "superposition"), so that one network serves many
    graphs.
    """
    whole = x.mean(0)
    for number, layer in enumerate([*sage, *attention]):
        x = layer(x, graph) if isinstance(layer, Sage) else layer(x)
        if len(gates):
            x = x * (1 + torch.tanh(gates[number](whole)))
    return x


def zero_linear(inputs: int, outputs: int) -> nn.Linear:
    """A last layer whose outputs are 0 before training."""
    layer = Linear(inputs, outputs)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
