"""Attention between the instructions of a block, with a bias for the relation of each pair in the dependency DAG.

A transformer encoder (Vaswani et al. 2017, pre-norm) without positions: it does not read the order in which the
instructions are shown. Relations enter as in Graphormer (Ying et al. 2021): as a learned
bias for each category of each pair, head and layer.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn
from torch.nn import functional

from learned_schedulers.blocks.models.inputs import Inputs
from learned_schedulers.blocks.models.ordering_settings import Encoder as Settings
from learned_schedulers.blocks.problems.outside import N_OUTSIDE
from learned_schedulers.blocks.problems.relations import N_NODE, N_PAIR
from learned_schedulers.blocks.read.leaks import MOST_FOLLOWING as MOST


class Layer(nn.Module):
    """Attention, then a perceptron for each instruction; the input of both is added to their output.

    Dropout removes the whole output for an instruction (as in stochastic depth, Huang et al. 2016), because dropout
    of single numbers took a tenth of the training's time on a CPU.
    """

    def __init__(self, width: int, heads: int, expansion: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.drop = heads, nn.Dropout1d(dropout)
        self.norm, self.norm_wide = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, expansion * width), nn.Linear(expansion * width, width)

    def forward(self, x: torch.Tensor, bias: torch.Tensor, outside: torch.Tensor | None = None) -> torch.Tensor:
        """x: (B, n, width); outside: keys and values of C more, (2, B, heads, C, width / heads).

        bias: (B, heads, n, n + C).
        """
        size, n, width = x.shape
        parts = self.queries_keys_values(self.norm(x)).view(size, n, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, heads, n, width / heads)
        if outside is not None:
            key, value = torch.cat([key, outside[0]], 2), torch.cat([value, outside[1]], 2)
        weights = (query * (width // self.heads) ** -0.5 @ key.mT + bias).softmax(-1).to(value.dtype)
        x = x + self.drop(self.mix((weights @ value).transpose(1, 2).reshape(size, n, width)))
        return x + self.drop(self.narrow(functional.relu(self.widen(self.norm_wide(x)))))


class Following(nn.Module):
    """The instructions that follow a block: those of the block attend to them, and they stay as they are in all layers.

    So each costs a sixth of an instruction of the block. Their distance from the block distinguishes them, and the
    bias of a pair is learned for the categories of `outside_relations`.
    """

    def __init__(self, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.slots, self.none = nn.Embedding(MOST, width), nn.Parameter(torch.empty(width))
        self.pairs = nn.EmbeddingBag(N_OUTSIDE, layers * heads, mode="sum")
        self.norm, self.keys_values = nn.LayerNorm(width), nn.Linear(width, 2 * layers * width)
        self.layers, self.heads = layers, heads
        nn.init.normal_(self.slots.weight, std=0.1)
        nn.init.normal_(self.none, std=0.1)
        nn.init.zeros_(self.pairs.weight)

    def nodes(self, instructions: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        """instructions: (V, width), embedded; following: (B, MOST) in 0..V, -1 for none. Returns (B, MOST, width)."""
        embedded = functional.embedding(following.clamp_min(0), instructions)
        return torch.where((following < 0)[..., None], self.none, embedded) + self.slots.weight

    def memory(
        self, nodes: torch.Tensor, kinds: torch.Tensor, pairs: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values, (layers, 2, B, heads, MOST, width / heads); biases, (layers, B, heads, n, MOST).

        nodes: (B, MOST, width); kinds and pairs: as in Inputs.
        """
        size, n, count = pairs.shape
        parts = self.keys_values(self.norm(nodes)).view(size, count, self.layers, 2, self.heads, -1)
        bias = functional.embedding(pairs, self.pairs(kinds)).view(size, n, count, self.layers, self.heads)
        return parts.permute(2, 3, 0, 4, 1, 5), bias.permute(3, 0, 4, 1, 2)


class Attention(nn.Module):
    """The encoder. Without settings.relations, it reads the instructions alone, not the DAG between them.

    With settings.following, it also reads the instructions that follow the block.
    """

    def __init__(self, n_tokens: int, settings: Settings) -> None:
        super().__init__()
        width, layers, heads, expansion = settings.width, settings.layers, settings.heads, settings.expansion
        self.tokens = nn.EmbeddingBag(n_tokens, width, mode="sum")
        nn.init.normal_(self.tokens.weight, std=0.1)
        if settings.relations:
            self.nodes = nn.EmbeddingBag(N_NODE, width, mode="sum")
            self.pairs = nn.EmbeddingBag(N_PAIR, layers * heads, mode="sum")
            nn.init.normal_(self.nodes.weight, std=0.1)
            nn.init.zeros_(self.pairs.weight)
        self.following = Following(width, layers, heads) if settings.following else None
        self.relations = settings.relations
        self.token_dropout = settings.token_dropout
        self.enter = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, expansion * width),
            nn.ReLU(),
            nn.Linear(expansion * width, width),
        )
        self.layers = nn.ModuleList(Layer(width, heads, expansion, settings.dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, batch: Inputs) -> torch.Tensor:
        """Returns (B, n, width)."""
        size, n = batch.instructions.shape
        token_weights = torch.ones_like(batch.tokens, dtype=self.tokens.weight.dtype)
        token_weights = functional.dropout(token_weights, self.token_dropout, self.training)
        instructions = self.tokens(batch.tokens, batch.starts, per_sample_weights=token_weights)
        # Plain indexing would add gradients in the order of the threads.
        x = functional.embedding(batch.instructions, instructions)
        bias = x.new_zeros(len(self.layers), 1, 1, 1, 1)
        if self.relations:
            x = x + self.nodes(batch.nodes.flatten(0, 1)).view(size, n, -1)
            learned = functional.embedding(batch.pairs, self.pairs(batch.kinds)).view(size, n, n, len(self.layers), -1)
            bias = learned.permute(3, 0, 4, 1, 2)  # (layers, B, heads, n, n)
        x = x + self.enter(x)
        outside: Iterable[torch.Tensor | None] = [None] * len(self.layers)
        if self.following is not None:
            nodes = self.following.nodes(instructions, batch.following)
            nodes = nodes + self.enter(nodes)
            outside, further = self.following.memory(nodes, batch.following_kinds, batch.following_pairs)
            bias = torch.cat([bias.expand(-1, size, further.shape[2], n, n), further], -1)
        for layer, layer_bias, layer_outside in zip(self.layers, bias, outside, strict=True):
            x = layer(x, layer_bias, layer_outside)
        embedded: torch.Tensor = self.norm(x)
        return embedded
