"""A batch of partial orders as tensors, for the operators in plain PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from learned_schedulers.operators.orders import PartialOrders

_CUTOFF = 1e-12  # eigenvalues below this share of the largest count as zero


class Batch:
    """The partial orders of a batch as tensors, with the device and the floating type of `like`.

    real: (B, n) bool, the instructions. support: (B, n, n) bool, the windows; first, last: (B, n) int64, their
    ends. slots: (B, n) centred, 0 in the padding. before, after: (B, E) int64 and edge: (B, E) bool, the
    dependencies. weight: (B, E), see `extrapolated`.
    """

    def __init__(self, orders: PartialOrders, like: torch.Tensor) -> None:
        device, dtype = like.device, like.dtype

        def tensor(array: Any) -> torch.Tensor:
            return torch.from_numpy(array).to(device)

        self.sizes = tensor(orders.sizes)
        index = torch.arange(orders.n, device=device)
        self.real = index < self.sizes[:, None]
        self.square = self.real[:, :, None] & self.real[:, None, :]
        self.support = tensor(orders.support())
        self.before, self.after, self.edge = (tensor(part) for part in orders.padded())
        # Centred slots do not change a dependency, and with them its normal keeps the column sums.
        self.slots = torch.where(self.real, index - (self.sizes[:, None] - 1) / 2, 0.0).to(dtype)
        self.first, self.last = tensor(orders.first).long(), tensor(orders.last).long()
        width = (self.last - self.first + 1) * self.real
        spread = (width * (width.to(dtype).square() - 1) / 12).clamp_min(0)
        total = spread.gather(1, self.before) + spread.gather(1, self.after)
        movable = self.edge & (total > 0)
        self.weight = torch.where(movable, 1 / torch.where(movable, total, 1.0), 0.0)
        within = self.support.double()
        laplacian = torch.cat(
            [
                torch.cat([torch.diag_embed(within.sum(2)), within], 2),
                torch.cat([within.mT, torch.diag_embed(within.sum(1))], 2),
            ],
            1,
        )
        self._inverse = torch.linalg.pinv(laplacian, rtol=_CUTOFF, hermitian=True).to(dtype)

    def affine(self, matrix: torch.Tensor, target: float) -> torch.Tensor:
        """Nearest matrix whose rows and columns sum to `target` and which is 0 outside the windows."""
        inside = torch.where(self.support, matrix, 0.0)
        goal = target * self.real
        missing = torch.cat([goal - inside.sum(2), goal - inside.sum(1)], 1)
        shift = (self._inverse @ missing.unsqueeze(-1)).squeeze(-1)
        rows, columns = shift.chunk(2, 1)
        return torch.where(self.support, inside + rows.unsqueeze(2) + columns.unsqueeze(1), 0.0)

    def slack(self, matrix: torch.Tensor) -> torch.Tensor:
        """x_b - x_a of every dependency, (B, E), 0 in the padding."""
        x = (matrix * self.slots.unsqueeze(1)).sum(2)
        return torch.where(self.edge, x.gather(1, self.after) - x.gather(1, self.before), 0.0)

    def gaps(self, matrix: torch.Tensor) -> torch.Tensor:
        """Violation of every dependency, (B, E); 0 if it is satisfied."""
        return torch.where(self.edge, 1 - self.slack(matrix), 0.0).relu()

    def scatter(self, values: torch.Tensor) -> torch.Tensor:
        """Transpose of x_b - x_a: (B, E) -> (B, n)."""
        sums = values.new_zeros(self.real.shape)
        values = torch.where(self.edge, values, 0.0)
        return sums.scatter_add(1, self.after, values).scatter_add(1, self.before, -values)
