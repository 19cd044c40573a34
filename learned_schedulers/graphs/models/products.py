"""A linear layer whose matrix products are NumPy's.

torch multiplies by MKL, which gives the same bits on all processors in its slowest mode alone (pipeline/__init__.py).
NumPy's OpenBLAS is fixed to one kind of AVX2 kernels, and is two to three times as fast on the many short rows of a
policy. On other devices than a CPU the products are torch's.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Linear(nn.Linear):
    """nn.Linear, with the same initial weights; its input may have any number of leading axes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.device.type != "cpu":
            return functional.linear(x, self.weight, self.bias)
        out: torch.Tensor = _Product.apply(x.reshape(-1, self.in_features), self.weight)
        out = out.view(*x.shape[:-1], self.out_features)
        return out if self.bias is None else out + self.bias


class _Product(torch.autograd.Function):
    """x @ weight.T, (N, i) and (o, i) -> (N, o)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        return torch.from_numpy(x.detach().numpy() @ weight.detach().numpy().T)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        x, weight = (saved.detach().numpy() for saved in ctx.saved_tensors)
        rows = gradient.numpy()
        x_gradient = torch.from_numpy(rows @ weight) if ctx.needs_input_grad[0] else None
        weight_gradient = torch.from_numpy(rows.T @ x) if ctx.needs_input_grad[1] else None
        return x_gradient, weight_gradient
