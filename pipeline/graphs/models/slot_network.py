"""Soft assignments of operations to slots, projected onto the precedence: POCSNet's operator on jobs.

Attention over a graph's operations, with a bias for their relation (parent, descendant, ...), gives each operation a
score for each slot; POPOCS projects the scores onto the soft orders that respect the precedence. Slots are ranks of
list scheduling's priorities: of two operations that may start, the one in the earlier slot starts first.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

from pipeline import tables
from pipeline.config.slot_network import SlotNetwork as Settings
from pipeline.graphs.models.views import N_BUMPS, N_FEATURES, N_RELATIONS, Batch
from pipeline.operators.orders import PartialOrders
from pipeline.operators.popocs import popocs
from pipeline.operators.sinkhorn import sinkhorn

_DESCRIPTION = "slot_network"  # key in a file's metadata
_SINKHORN = 20  # iterations
_SHARPNESS = 2.0  # weight of list scheduling's ranking before training


class Layer(nn.Module):
    """Attention, then a perceptron for each operation; each is added to its input.

    torch's TransformerEncoderLayer gives NaN in inference (2.13) where something is added to the scores of attention.
    """

    def __init__(self, width: int, heads: int, expansion: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm_wide = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, expansion * width), nn.Linear(expansion * width, width)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """x: (B, n, width); bias: (B, heads, n, n). Returns (B, n, width)."""
        parts = self.queries_keys_values(self.norm(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, heads, n, width / heads)
        weights = (query @ key.mT * query.shape[-1] ** -0.5 + bias).softmax(-1)
        x = x + self.mix((weights @ value).transpose(1, 2).flatten(2))
        added: torch.Tensor = self.narrow(functional.gelu(self.widen(self.norm_wide(x))))
        return x + added


class SlotNetwork(nn.Module):
    """Equivariant: another numbering of the operations gives each the same scores, up to rounding."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width, heads = settings.width, settings.heads
        self.settings = settings
        self.enter = nn.Linear(N_FEATURES, width)
        self.layers = nn.ModuleList(Layer(width, heads, settings.expansion) for _ in range(settings.layers))
        self.relations = nn.Embedding(N_RELATIONS, settings.layers * heads)  # added to the scores of attention
        nn.init.zeros_(self.relations.weight)
        self.norm, self.query, self.key = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(N_BUMPS, width)
        if settings.start == "ranking":
            self.sharpness = nn.Parameter(torch.tensor(_SHARPNESS))
            nn.init.zeros_(self.key.weight)  # so that the scores before training are the ranking's alone
            nn.init.zeros_(self.key.bias)

    def scores(self, batch: Batch) -> torch.Tensor:
        """(B, n, n): operation i in slot j."""
        x = self.enter(batch.features)  # (B, n, width)
        related = self.relations(batch.relations).unflatten(-1, (len(self.layers), -1))  # (B, n, n, layers, heads)
        for layer, bias in zip(self.layers, related.permute(3, 0, 4, 1, 2), strict=True):  # bias: (B, heads, n, n)
            x = layer(x, bias)
        scores: torch.Tensor = self.query(self.norm(x)) @ self.key(batch.slots).T * self.settings.width**-0.5
        if self.settings.start == "ranking":  # the nearer an operation's place in the ranking to the slot, the higher
            scores = scores + self.sharpness * batch.features[..., -N_BUMPS:] @ batch.slots.T
        return scores

    def constrain(self, scores: torch.Tensor, orders: PartialOrders) -> torch.Tensor:
        """Scores (B, n, n) -> the nearest soft orders that respect the precedence; with Sinkhorn, any soft orders."""
        if self.settings.operator == "sinkhorn":
            return sinkhorn(scores, _SINKHORN)
        return popocs(scores, orders, method="nearest")

    def save(self, path: Path) -> None:
        """Write the weights with the settings, as safetensors."""
        with tables.replacing(path) as temporary:
            save_file(self.state_dict(), temporary, {_DESCRIPTION: self.settings.model_dump_json()})

    @staticmethod
    def load(path: Path) -> SlotNetwork:
        """A trained network from its file. Raises ValueError if the file holds no such network."""
        try:
            with safe_open(path, "pt") as file:
                described = (file.metadata() or {}).get(_DESCRIPTION)
                weights = {name: file.get_tensor(name) for name in list(file.keys())}
        except (SafetensorError, FileNotFoundError) as error:
            raise ValueError(f"{path} is not a file of weights ({error}); train it again") from error
        if described is None:
            raise ValueError(f"{path} is not a network of slots: it holds no settings; train it by train_slot_network")
        network = SlotNetwork(Settings.model_validate(json.loads(described)))
        network.load_state_dict(weights)
        return network.eval()
