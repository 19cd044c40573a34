"""GO's network with a head for fusion; the layers that read the graph are those for placement (models/whole_graph)."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from learned_schedulers.graphs.compilers.levels import LEVELS
from learned_schedulers.graphs.models.fusing.numbers import GRAPH_NUMBERS, PLAN_NUMBERS, Fusible
from learned_schedulers.graphs.models.products import Linear
from learned_schedulers.graphs.models.whole_graph.layers import read, zero_linear
from learned_schedulers.graphs.models.whole_graph.network import Scores, WholeGraph
from learned_schedulers.graphs.models.whole_graph.settings import WholeGraph as Settings
from learned_schedulers.learning import weights

_KIND = "fusing"  # of its file of weights
_BOUND = 3.0


class Fusing(nn.Module):
    """Scores of every operation: logits of its levels, and of deciding it anew."""

    def __init__(self, settings: Settings, handed: int = 0) -> None:
        """handed: how many numbers of each operation come from another task."""
        super().__init__()
        self.settings, width = settings, settings.width
        layers = WholeGraph(settings)
        self.sage, self.attention, self.modulation = layers.sage, layers.attention, layers.modulation
        self.enter = nn.Sequential(
            Linear(GRAPH_NUMBERS + PLAN_NUMBERS + handed, width), nn.ReLU(), Linear(width, width)
        )
        self.level = nn.Sequential(Linear(width, width), nn.ReLU(), zero_linear(width, LEVELS + 1))

    def forward(self, fusible: Fusible, plan: Tensor, handed: Tensor | None = None) -> Scores:
        """plan: (n, PLAN_NUMBERS); handed: (n, handed). The result has levels in place of priorities."""
        inputs = [fusible.operations, plan] if handed is None else [fusible.operations, plan, handed]
        x = self.enter(torch.cat(inputs, 1))  # (n, width)
        scores = self.level(read(x, fusible, self.sage, self.attention, self.modulation))  # (n, LEVELS + 1)
        size = scores.square().mean()
        bounded = _BOUND * torch.tanh(scores / _BOUND)
        no_placement = scores.new_zeros(len(scores), 1)
        return Scores(no_placement, no_placement[:, 0], bounded[:, :LEVELS], bounded[:, LEVELS], size)


def save(network: Fusing, path: Path) -> None:
    """Write the weights with the settings."""
    weights.save(network, path, _KIND, network.settings.model_dump_json())


def load(path: Path) -> Fusing:
    """A trained network from its file. Raises ValueError if the file holds no such network."""
    return weights.load(path, _KIND, lambda described: Fusing(Settings.model_validate_json(described)))
