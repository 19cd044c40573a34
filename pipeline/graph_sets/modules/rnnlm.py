"""A recurrent language model: LSTM layers on top of each other (Jozefowicz et al. 2016, without its projections)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.graph_sets.modules.lstm import LSTMStep


class RNNLMStep(nn.Module):
    """One token of every sequence. The states are h and c of the first layer, then h and c of the second, and so on."""

    def __init__(self, layers: int, hidden: int, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.layers = nn.ModuleList([LSTMStep(hidden, hidden) for _ in range(layers)])
        self.logits = nn.Linear(hidden, words)

    def forward(self, tokens: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        """tokens (B,), 2 x layers states (B, hidden) -> logits (B, words), new states."""
        x = self.embedding(tokens)
        after: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            x, c = layer(x, states[2 * number], states[2 * number + 1])
            after += [x, c]
        return self.logits(x), *after


class RNNLM(nn.Module):
    """All tokens of every sequence, one step per token."""

    def __init__(self, step: RNNLMStep) -> None:
        super().__init__()
        self.step = step

    def forward(self, tokens: Tensor, *states: Tensor) -> Tensor:
        """tokens (B, T), first states (B, hidden) -> logits (B, T, words)."""
        logits = []
        for t in range(tokens.shape[1]):
            scores, *following = self.step(tokens[:, t], *states)
            states = tuple(following)
            logits.append(scores)
        return torch.stack(logits, 1)
