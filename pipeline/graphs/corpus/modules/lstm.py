"""One step of an LSTM layer, as the operations that it is made of."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LSTMStep(nn.Module):
    """Hochreiter & Schmidhuber 1997 with forget gates; one matrix product for all gates."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, inputs), state h, c (B, hidden) -> new h, c."""
        hidden = h.shape[-1]
        sums = self.gates(torch.cat([x, h], -1))  # (B, 4 hidden)
        opened = torch.sigmoid(sums[:, : 3 * hidden])
        enter, forget, leave = opened.chunk(3, -1)
        c = forget * c + enter * torch.tanh(sums[:, 3 * hidden :])
        return leave * torch.tanh(c), c
