"""POCSNet's encoder for blocks of any length: an LSTM over each instruction's tokens, then a perceptron.

This deviates from the paper (section 4), whose perceptron reads the concatenated five embeddings of a block: that
fixes the length, and depends on the order shown. Here it reads an instruction's embedding and the block's mean.

Sequences are packed: oneDNN's LSTM, which torch uses for a padded batch, gives other numbers on other processors.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from learned_schedulers.blocks.models.inputs import Inputs
from learned_schedulers.blocks.models.ordering_settings import Encoder as Settings
from learned_schedulers.blocks.problems.relations import N_NODE


class Lstm(nn.Module):
    """The encoder. Without settings.relations, it reads the instructions alone, not their places in the DAG."""

    def __init__(self, n_tokens: int, settings: Settings) -> None:
        super().__init__()
        if settings.positions or settings.following or settings.dropout or settings.token_dropout:
            raise ValueError("the encoder lstm has no positions, no following and no dropout; use attention")
        width = settings.width
        self.tokens = nn.Embedding(n_tokens + 1, width)  # the last: an instruction without known tokens
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.nodes = nn.EmbeddingBag(N_NODE, width, mode="sum") if settings.relations else None
        inner = settings.expansion * width
        self.perceptron = nn.Sequential(
            nn.Linear(2 * width, inner), nn.ReLU(), nn.Linear(inner, inner), nn.ReLU(), nn.Linear(inner, width)
        )

    def forward(self, batch: Inputs) -> torch.Tensor:
        """Returns (B, n, width)."""
        size, n = batch.instructions.shape
        bounds = torch.cat([batch.starts, batch.starts.new_tensor([len(batch.tokens)])])
        counts = bounds.diff().tolist()
        unknown = batch.tokens.new_tensor([self.tokens.num_embeddings - 1])
        sequences = [part if len(part) else unknown for part in batch.tokens.split(counts)]
        lengths = torch.tensor([len(part) for part in sequences])
        words = self.tokens(pad_sequence(sequences, batch_first=True))
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        x = functional.embedding(batch.instructions, last[0].to(words.dtype))
        if self.nodes is not None:
            x = x + self.nodes(batch.nodes.flatten(0, 1)).view(size, n, -1)
        embedded: torch.Tensor = self.perceptron(torch.cat([x, x.mean(1, keepdim=True).expand_as(x)], -1))
        return embedded


make = Lstm
