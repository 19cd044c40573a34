"""A batch of partial orders as tensors, for the operators in plain PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from pipeline.operators.orders import PartialOrders

_FAR = 1e-12  # eigenvalues below this share of the largest are zero


class Batch:
    """The partial orders of a batch as tensors: real (B, n), support S (B, n, n), and the dependencies."""

    def __init__(self, orders: PartialOrders, like: torch.Tensor) -> None:
        def tensor(array: Any) -> torch.Tensor:
            return torch.from_numpy(array).to(like.device)

        n = orders.n
        self.sizes = tensor(orders.sizes)
        self._orders, self._device = orders, like.device
        self.real = torch.arange(n, device=like.device) < self.sizes[:, None]
        self.support = tensor(orders.support())
        self.first, self.last = tensor(orders.first).long(), tensor(orders.last).long()
        self.before, self.after, self.edge = (tensor(part) for part in orders.padded())  # (B, E)
        self.square = self.real[:, :, None] & self.real[:, None, :]
        # (B, n), centred: a dependency is the same in centred slots and its normal keeps the column sums.
        self.slots = torch.where(self.real, torch.arange(n, device=like.device) - (self.sizes[:, None] - 1) / 2, 0.0)
        self.slots = self.slots.to(like.dtype)
        width = (self.last - self.first + 1).to(like.dtype) * self.real
        spread = width * (width.square() - 1) / 12
        weight = spread.gather(1, self.before) + spread.gather(1, self.after)
        self.weight = torch.where(self.edge & (weight > 0), 1 / weight.clamp_min(0.5), 0.0)
        S = self.support.to(like.dtype)
        laplacian = torch.cat(
            [
                torch.cat([torch.diag_embed(S.sum(2)), S], 2),
                torch.cat([S.mT, torch.diag_embed(S.sum(1))], 2),
            ],
            1,
        ).double()
        self.inverse = torch.linalg.pinv(laplacian, rtol=_FAR, hermitian=True).to(like.dtype)

    def double(self) -> Batch:
        """The same in float64."""
        if self.slots.dtype == torch.float64:
            return self
        return Batch(self._orders, torch.empty(0, dtype=torch.float64, device=self._device))

    def affine(self, matrix: torch.Tensor, target: float) -> torch.Tensor:
        """Nearest matrix whose rows and columns sum to `target` and which is 0 outside the windows."""
        inside = torch.where(self.support, matrix, 0.0)
        goal = target * self.real
        wrong = torch.cat([goal - inside.sum(2), goal - inside.sum(1)], 1)
        shift = (self.inverse @ wrong.unsqueeze(-1)).squeeze(-1)
        rows, columns = shift.chunk(2, 1)
        return torch.where(self.support, inside + rows.unsqueeze(2) + columns.unsqueeze(1), 0.0)

    def gaps(self, matrix: torch.Tensor) -> torch.Tensor:
        """Violation of every dependency, (B, E), 0 where it holds."""
        x = (matrix * self.slots.unsqueeze(1)).sum(2)
        return torch.where(self.edge, 1 - (x.gather(1, self.after) - x.gather(1, self.before)), 0.0).relu()

    def scatter(self, values: torch.Tensor) -> torch.Tensor:
        """Transpose of `x_b - x_a`: (B, E) -> (B, n)."""
        out = values.new_zeros(self.real.shape)
        values = torch.where(self.edge, values, 0.0)
        return out.scatter_add(1, self.after, values).scatter_add(1, self.before, -values)
