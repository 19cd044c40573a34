"""A computation graph's operations as vectors, by attention; every head sees one kind of relatives alone.

Topoformer (Gagrani et al. 2022, "Neural topological ordering for computation graphs", section 3.2), as Zhang et al.
2023 use it: heads for parents, children, ancestors and descendants, each with the operation itself. Every head takes
memory O(n^2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from pipeline.graphs.models.slot_network import Layer
from pipeline.graphs.models.views import ANCESTOR, CHILD, DESCENDANT, ITSELF, N_FEATURES, PARENT, view
from pipeline.graphs.problems.problem import Problem

_RELATIVES = ((PARENT,), (CHILD,), (PARENT, ANCESTOR), (CHILD, DESCENDANT))
HEADS = len(_RELATIVES)  # or a multiple of it
N_INPUTS = N_FEATURES + 1


class GraphView(NamedTuple):
    """What an encoder sees of a graph of n operations."""

    features: torch.Tensor  # (n, N_INPUTS)
    visible: torch.Tensor  # (HEADS, n, n) bool: head, operation, relative


def graph_view(problem: Problem) -> GraphView:
    """Numbers without a unit, of run times and of the sizes of results; transfers are not part of it."""
    numbers = view(problem)
    mean = float(problem.sizes.mean()) or 1.0
    features = np.column_stack([numbers.features, np.log1p(problem.sizes / mean)]).astype(np.float32)
    relations = torch.from_numpy(numbers.relations)
    masks = [torch.isin(relations, torch.tensor([ITSELF, *kinds])) for kinds in _RELATIVES]
    return GraphView(torch.from_numpy(features), torch.stack(masks))


class Topoformer(nn.Module):
    def __init__(self, width: int, layers: int, inputs: int = N_INPUTS) -> None:
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.layers = nn.ModuleList(Layer(width, HEADS, 2) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, features: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """features: (B, n, inputs); seen: (B, HEADS, n, n) bool. Returns (B, n, width)."""
        bias = torch.zeros(visible.shape, dtype=features.dtype, device=features.device).masked_fill(
            ~visible, -torch.inf
        )
        x = self.enter(features)
        for layer in self.layers:
            x = layer(x, bias)
        out: torch.Tensor = self.norm(x)
        return out
