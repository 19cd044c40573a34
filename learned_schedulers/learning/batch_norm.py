"""Batch normalisation with the statistics of a batch that several processes share; torch's own is for GPUs alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from learned_schedulers.learning import processes


class _Sum(torch.autograd.Function):
    """The sum over all processes; every process's loss depends on it, so the gradients are summed, too."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor) -> torch.Tensor:
        return processes.summed(values)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return processes.summed(gradient)


class SharedBatchNorm(nn.BatchNorm1d):
    """As nn.BatchNorm1d of (B, width), where each process has some of the batch's rows."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Returns (B, width), normalised; in training the running statistics follow those of the whole batch."""
        if not self.training:
            return super().forward(values)
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        assert self.momentum is not None
        rows = int(processes.summed(torch.tensor(len(values))))
        mean = _Sum.apply(values.sum(0)) / rows
        variance = _Sum.apply((values - mean).square().sum(0)) / rows
        with torch.no_grad():
            self.num_batches_tracked += 1
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (rows / (rows - 1)), self.momentum)
        return (values - mean) * (variance + self.eps).rsqrt() * self.weight + self.bias


def share_statistics(network: nn.Module) -> None:
    """Replace the network's normalisations by such ones with the same weights; with one process nothing changes."""
    if processes.place()[1] == 1:
        return
    for parent in list(network.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.BatchNorm1d:
                shared = SharedBatchNorm(layer.num_features, layer.eps, layer.momentum)
                shared.weight, shared.bias = layer.weight, layer.bias
                shared.load_state_dict(layer.state_dict())
                setattr(parent, name, shared)
