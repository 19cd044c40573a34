"""A user's torch module with weights, to be compiled and run; `module_export.py` makes it without weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from learned_schedulers.graphs.plans.module_words import drawn, imported, input_of


@dataclass(frozen=True)
class NamedModule:
    """`module:Class` on the CPU, with weights and inputs from a seed, so that another process makes the same module."""

    named: str
    inputs: tuple[str, ...]  # without names: shapes as `32,3,224,224`, or with a type, `int64:16,128`
    training: bool = False

    def build(self) -> tuple[nn.Module, tuple[Tensor, ...]]:
        """The module and its inputs; every call returns equal ones."""
        torch.manual_seed(0)
        with imported(self.named) as make:
            module: nn.Module = make().train(self.training)
        module.requires_grad_(self.training)
        return module, tuple(drawn(entry) for entry in map(input_of, self.inputs))
