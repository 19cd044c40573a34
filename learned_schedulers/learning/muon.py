"""Muon (Jordan et al. 2024) for the matrices of a network, AdamW for everything else, as one optimiser.

Muon orthogonalises the momentum of each matrix. Its updates have the size of AdamW's (Liu et al. 2025), so both have
the same learning rate.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class MuonWithAdamW:
    """A part of a training, as torch's optimisers: `muon` has the weights of linear layers, `adamw` all others."""

    def __init__(self, network: nn.Module, learning_rate: float, weight_decay: float) -> None:
        matrices = [module.weight for module in network.modules() if isinstance(module, nn.Linear)]
        chosen = set(map(id, matrices))
        others = [parameter for parameter in network.parameters() if id(parameter) not in chosen]
        self.muon = torch.optim.Muon(matrices, learning_rate, weight_decay, adjust_lr_fn="match_rms_adamw")
        self.adamw = torch.optim.AdamW(others, learning_rate, (0.9, 0.98), weight_decay=weight_decay, fused=True)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.muon.param_groups + self.adamw.param_groups

    def zero_grad(self) -> None:
        self.muon.zero_grad()
        self.adamw.zero_grad()

    def step(self) -> None:
        self.muon.step()
        self.adamw.step()

    def state_dict(self) -> dict[str, Any]:
        return {"muon": self.muon.state_dict(), "adamw": self.adamw.state_dict()}

    def load_state_dict(self, state: dict[str, Any], /) -> None:
        self.muon.load_state_dict(state["muon"])
        self.adamw.load_state_dict(state["adamw"])
