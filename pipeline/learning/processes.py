"""What the processes of one training (`torchrun`) tell each other: sums and means; alone, a process keeps its own."""

from __future__ import annotations

import torch
from torch import distributed, nn


def sum_gradients(network: nn.Module, terms: int) -> int:
    """Gradients become the sums over all processes; so does the number of terms, which is returned."""
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
    """The sum of `total` over all processes, divided by that of `terms`, at least 1."""
    both = torch.tensor([float(total), terms], dtype=torch.float64)
    if distributed.is_initialized():
        distributed.all_reduce(both)
    return float(both[0] / both[1].clamp_min(1))
