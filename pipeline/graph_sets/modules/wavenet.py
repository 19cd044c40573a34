"""WaveNet (van den Oord et al. 2016): gated causal convolutions with doubling dilations and skips to the output."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad


class _Layer(nn.Module):
    def __init__(self, channels: int, dilation: int, last: bool) -> None:
        super().__init__()
        self.dilation = dilation
        self.gated = nn.Conv1d(channels, 2 * channels, 2, dilation=dilation)
        self.skip = nn.Conv1d(channels, channels, 1)
        self.residual = None if last else nn.Conv1d(channels, channels, 1)  # nothing reads the last layer's residual

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        value, gate = self.gated(pad(x, (self.dilation, 0))).chunk(2, 1)
        y = torch.tanh(value) * torch.sigmoid(gate)
        return x if self.residual is None else x + self.residual(y), self.skip(y)


class WaveNet(nn.Module):
    """`stacks` stacks of `depth` layers with dilations 1, 2, 4, ...; levels: the number of values of a sample."""

    def __init__(self, stacks: int, depth: int, channels: int, levels: int) -> None:
        super().__init__()
        self.entry = nn.Conv1d(levels, channels, 1)
        layers = stacks * depth
        self.layers = nn.ModuleList([_Layer(channels, 2 ** (i % depth), i == layers - 1) for i in range(layers)])
        self.exit = nn.Sequential(
            nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(), nn.Conv1d(channels, levels, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """x (B, levels, T) -> logits (B, T, levels)."""
        x = self.entry(x)
        skips = []
        for layer in self.layers:
            x, skip = layer(x)
            skips.append(skip)
        total = skips[0]
        for skip in skips[1:]:
            total = total + skip
        return self.exit(total).transpose(1, 2)
