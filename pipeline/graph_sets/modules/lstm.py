"""One step of an LSTM layer, written as its single operations."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LSTMStep(nn.Module):
    """LSTM of Hochreiter & Schmidhuber 1997 with forget gates; one matrix product for all gates."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, inputs), state h, c (B, hidden) -> new h, c."""
        hidden = h.shape[-1]
        sums = self.gates(torch.cat([x, h], -1))  # (B, 4 hidden)
        gates = torch.sigmoid(sums[:, : 3 * hidden])
        input_gate, forget_gate, output_gate = gates.chunk(3, -1)
        c = forget_gate * c + input_gate * torch.tanh(sums[:, 3 * hidden :])
        return output_gate * torch.tanh(c), c
