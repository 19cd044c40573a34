"""Sums and means over the processes of one training (`torchrun`); with one process they change nothing."""

from __future__ import annotations

import torch
from torch import distributed, nn


def sum_gradients(network: nn.Module, terms: int) -> int:
    """Replace the gradients by their sums over all processes; returns the sum of `terms` over all processes."""
    if distributed.is_initialized():
        parameters = [p for p in network.parameters() if p.requires_grad]
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in parameters])
        flat = torch.cat([flat, flat.new_tensor([terms])])
        distributed.all_reduce(flat)
        terms = int(flat[-1])
        for p, part in zip(parameters, flat[:-1].split([p.numel() for p in parameters]), strict=True):
            p.grad = part.view_as(p)
    return terms


def mean(total: torch.Tensor, terms: int) -> float:
    """The sum of `total` over all processes, divided by that of `terms` (at least 1)."""
    sums = torch.tensor([float(total), terms], dtype=torch.float64)
    if distributed.is_initialized():
        distributed.all_reduce(sums)
    return float(sums[0] / sums[1].clamp_min(1))
