"""A split that `graph` writes is one of the operations that PlacedModule numbers, and runs as them, with gradients."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.placed_module import PlacedModule, operation_kinds
from learned_schedulers.graphs.read.workloads import split_of

MODULE = """
import torch
from torch import nn
from torch.nn import functional

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(32, 96)
    def forward(self, x):
        parts = self.project(x).view(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
        return functional.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(x.shape)

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, batch_first=True)
    def forward(self, x):
        return self.layer(x)

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.LSTM(32, 8, 2, batch_first=True, bidirectional=True), nn.Linear(16, 4)
    def forward(self, x):
        return self.head(self.layers(x)[0])

class Resized(nn.Module):
    def forward(self, x):
        return functional.interpolate(x.sin(), scale_factor=2.0, mode="linear")

class Exported(nn.Module):
    # As networks do that leave out a mask which masks nothing, unless they are exported; and constants of numbers.
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 4)
    def forward(self, x):
        x = self.first(x)
        if torch.compiler.is_exporting():
            x = x * (x.square() >= 0)
        x = torch.cat([torch.tensor([], device=x.device).view(2, 0, 32), self.second(x) @ torch.ones(4, 32)], 1)
        return x * torch.tensor([2.0])

class Normalised(nn.Module):
    # A dimension of one element, whose stride decides the memory format.
    def __init__(self):
        super().__init__()
        self.mix, self.norm = nn.Linear(8, 8), nn.GroupNorm(2, 8)
    def forward(self, x):
        x = x.flatten()[:256].view(1, 8, 4, 8)
        return self.norm(self.mix(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape) + x)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Attention", "scaled_dot_product_attention"),
        ("Encoder", "scaled_dot_product_attention"),
        ("Recurrent", "lstm"),
        ("Resized", "interpolate"),
        ("Exported", "mul"),
        ("Normalised", "native_group_norm"),
    ],
)
def test_it_runs_what_the_split_names(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "placed_whole.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "placed_whole", raising=False)
    source = export_module(f"placed_whole:{name}", ["2,5,32"], False)
    nodes = source.listed
    placement = (np.arange(len(source.graph), dtype=np.int32) % 2)[nodes.owners]
    (tmp_path / "split.json").write_text(split_of(nodes.ids, placement, 2, nodes.names))
    kinds = export_module(f"placed_whole:{name}", ["2,5,32"], False, eager=True).graph.kinds
    import placed_whole  # type: ignore[import-not-found]

    torch.manual_seed(0)
    module, x = getattr(placed_whole, name)().eval(), torch.randn(2, 5, 32, requires_grad=True)
    assert operation_kinds(module, (x,)) == kinds and kind in source.graph.kinds
    placed = PlacedModule.of_split(module, (x,), tmp_path / "split.json", ["cpu", "cpu"])
    with torch.no_grad():
        assert torch.allclose(placed(x), module(x), atol=1e-6)
    operands = [x, *module.parameters()]
    gradients = torch.autograd.grad(placed(x).square().sum(), operands)
    for first, second in zip(gradients, torch.autograd.grad(module(x).square().sum(), operands), strict=True):
        assert torch.allclose(first, second, atol=1e-4)
    assert len(tree_leaves(placed(x))) == 1
