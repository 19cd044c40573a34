"""Transformer-XL (Dai et al. 2019): a segment attends to itself and to the layer inputs of the previous segment."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.position = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.content_bias = nn.Parameter(torch.empty(heads, 1, width // heads))
        self.position_bias = nn.Parameter(torch.empty(heads, 1, width // heads))
        self.after_attention, self.after_inner = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))

    def forward(self, x: Tensor, memory: Tensor, positions: Tensor) -> Tensor:
        """x (B, T, width), memory (B, M, width), positions (M + T, width) -> (B, T, width)."""
        batch, length, width = x.shape
        split = (self.heads, width // self.heads)
        query = self.query(x).unflatten(-1, split).transpose(1, 2)  # (B, heads, T, d)
        keys, values = self.key_value(torch.cat([memory, x], 1)).chunk(2, -1)
        keys = keys.unflatten(-1, split).transpose(1, 2)  # (B, heads, M + T, d)
        values = values.unflatten(-1, split).transpose(1, 2)
        relative = self.position(positions).unflatten(-1, split).transpose(0, 1)  # (heads, M + T, d)
        content = (query + self.content_bias) @ keys.transpose(-1, -2)
        distance = _shifted((query + self.position_bias) @ relative.transpose(-1, -2))
        weights = torch.softmax((content + distance) * (width // self.heads) ** -0.5, -1)
        read = (weights @ values).transpose(1, 2).reshape(batch, length, width)
        x = self.after_attention(x + self.out(read))
        return self.after_inner(x + self.inner(x))


def _shifted(scores: Tensor) -> Tensor:
    """Row t moved by its distance without a gather, as published. (B, heads, T, K) -> the same shape."""
    batch, heads, rows, columns = scores.shape
    return pad(scores, (1, 0)).view(batch, heads, columns + 1, rows)[:, :, 1:].reshape(batch, heads, rows, columns)


class TransformerXLStep(nn.Module):
    """One segment. States: each layer's input for the previous segment. No causal mask: it does not change the cost."""

    def __init__(self, layers: int, width: int, heads: int, inner: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList([_Layer(width, heads, inner) for _ in range(layers)])
        self.logits = nn.Linear(width, words)

    def forward(self, tokens: Tensor, positions: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        """tokens (B, T), positions (2 T, width), states (B, T, width) a layer -> logits (B, T, words), new states."""
        x = self.embedding(tokens)
        after = []
        for layer, memory in zip(self.layers, states, strict=True):
            after.append(x.detach())  # no gradient flows back to the previous segment
            x = layer(x, memory.detach(), positions)
        return self.logits(x), *after


class TransformerXL(nn.Module):
    """All segments, one after the other."""

    def __init__(self, step: TransformerXLStep) -> None:
        super().__init__()
        self.step = step

    def forward(self, tokens: Tensor, positions: Tensor, *states: Tensor) -> Tensor:
        """tokens (B, segments, T) -> logits (B, segments, T, words)."""
        logits = []
        for segment in range(tokens.shape[1]):
            scores, *following = self.step(tokens[:, segment], positions, *states)
            states = tuple(following)
            logits.append(scores)
        return torch.stack(logits, 1)
