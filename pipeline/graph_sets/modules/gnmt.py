"""Translation with stacked LSTMs and attention (Wu et al. 2016): one encoder layer runs both ways."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pipeline.graph_sets.modules.lstm import LSTMStep


class GNMT(nn.Module):
    """Every decoder layer but the first reads the result of attention (dot products, Luong et al. 2015).

    From the third layer on, a layer adds its input to its result.
    """

    def __init__(self, layers: int, hidden: int, words: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, hidden), nn.Embedding(words, hidden)
        self.backward_layer = LSTMStep(hidden, hidden)
        widths = [hidden, 2 * hidden] + [hidden] * (layers - 2)  # the second layer reads both directions
        self.encoder = nn.ModuleList([LSTMStep(width, hidden) for width in widths])
        self.decoder = nn.ModuleList([LSTMStep(2 * hidden if i else hidden, hidden) for i in range(layers)])
        self.logits = nn.Linear(hidden, words)

    def forward(self, source: Tensor, target: Tensor, zero: Tensor) -> Tensor:
        """source (B, S), target (B, T), zero: first state of every layer (B, hidden) -> logits (B, T, words)."""
        inputs = [self.source(source[:, t]) for t in range(source.shape[1])]
        backward = _run(self.backward_layer, inputs[::-1], zero)[::-1]
        xs = _run(self.encoder[0], inputs, zero)
        xs = [torch.cat(directions, -1) for directions in zip(xs, backward, strict=True)]
        for number, layer in enumerate(list(self.encoder)[1:]):
            ys = _run(layer, xs, zero)
            xs = [x + y for x, y in zip(xs, ys, strict=True)] if number else ys
        memory = torch.stack(xs, 1)  # (B, S, hidden)
        states = [(zero, zero)] * len(self.decoder)
        logits = []
        for t in range(target.shape[1]):
            x = self.target(target[:, t])
            h, c = self.decoder[0](x, *states[0])
            states[0] = (h, c)
            weights = torch.softmax(torch.bmm(memory, h.unsqueeze(-1)), 1)  # (B, S, 1)
            context = torch.bmm(weights.transpose(1, 2), memory).squeeze(1)
            x = h
            for number in range(1, len(self.decoder)):
                h, c = self.decoder[number](torch.cat([x, context], -1), *states[number])
                states[number] = (h, c)
                x = x + h if number > 1 else h
            logits.append(self.logits(x))
        return torch.stack(logits, 1)


def _run(layer: nn.Module, xs: list[Tensor], zero: Tensor) -> list[Tensor]:
    h, c, ys = zero, zero, []
    for x in xs:
        h, c = layer(x, h, c)
        ys.append(h)
    return ys
