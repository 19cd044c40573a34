"""Convex sets for EPOCS: small objects with `project` and `violation`.

All of them act on a batch of vectors y (B, d). The batch shares their numbers, or the numbers have a leading B and
differ for each item; rows of zeros are padding and constrain nothing. Matrices are dense or sparse (COO).
They must have the device and the floating type of y. Gradients reach y, dense matrices and right sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import torch

_CUTOFF = 1e-10  # eigenvalues below this share of the largest count as zero: redundant equations


class Constraint(Protocol):
    """A convex set C, for each item of a batch."""

    def project(self, y: torch.Tensor) -> torch.Tensor:
        """(B, d) -> (B, d): the nearest point of C, or of a half-space that contains C but not y."""
        ...

    def violation(self, y: torch.Tensor) -> torch.Tensor:
        """(B, d) -> (B,): the largest violation of the set's conditions; 0 in C."""
        ...


def _times(matrix: torch.Tensor, y: torch.Tensor, transposed: bool = False) -> torch.Tensor:
    """A y of every item, or A^T y: A (k, d) or (B, k, d), dense or coalesced COO, with (B, d) -> (B, k)."""
    if not matrix.is_sparse:
        matrix = matrix.mT if transposed else matrix
        return (matrix @ y.unsqueeze(-1)).squeeze(-1) if matrix.dim() == 3 else y @ matrix.mT
    *items, row, column = matrix.indices()
    if transposed:
        row, column = column, row
    count = matrix.shape[-1] if transposed else matrix.shape[-2]
    if items:  # a matrix for each item
        flat = y.new_zeros(len(y) * count)
        return flat.index_add(0, items[0] * count + row, matrix.values() * y[items[0], column]).view(len(y), count)
    return y.new_zeros(len(y), count).index_add(1, row, matrix.values() * y[:, column])


def _readable(matrix: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The matrix, dense or coalesced COO. Raises ValueError if the right side does not fit it."""
    if matrix.dim() not in (2, 3):
        raise ValueError(f"matrix: shape {tuple(matrix.shape)}, but (k, d) or (B, k, d) is needed")
    if right.dim() not in (1, 2) or right.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"right: shape {tuple(right.shape)}, but (..., {matrix.shape[-2]}) is needed")
    return matrix.coalesce() if matrix.is_sparse else matrix


def _dense(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.to_dense() if matrix.is_sparse else matrix


def _row_squares(matrix: torch.Tensor) -> torch.Tensor:
    """|a|^2 of every row, (k,) or (B, k), dense."""
    return torch.sparse.sum(matrix * matrix, -1).to_dense() if matrix.is_sparse else matrix.square().sum(-1)


def _worst(values: torch.Tensor) -> torch.Tensor:
    return values.amax(-1) if values.shape[-1] else values.new_zeros(values.shape[0])


@dataclass(eq=False)
class AffineEqualities:
    """A y = b. A: (k, d) or (B, k, d), dense or sparse; b: (k,) or (B, k). Redundant rows are allowed.

    project: y - A^T (A A^T)^+ (A y - b). The pseudo-inverse is computed once, (k, k) for each matrix. Contradictory
    equations are solved in the sense of least squares; then `violation` stays above 0.
    """

    matrix: torch.Tensor
    right: torch.Tensor
    _inverse: torch.Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.matrix = _readable(self.matrix, self.right)
        dense = _dense(self.matrix).double()
        self._inverse = torch.linalg.pinv(dense @ dense.mT, rtol=_CUTOFF, hermitian=True).to(self.matrix.dtype)

    def project(self, y: torch.Tensor) -> torch.Tensor:
        return y - self._back(_times(self.matrix, y) - self.right)

    def direction(self, y: torch.Tensor) -> torch.Tensor:
        """Nearest vector with A y = 0."""
        return y - self._back(_times(self.matrix, y))

    def violation(self, y: torch.Tensor) -> torch.Tensor:
        return _worst((_times(self.matrix, y) - self.right).abs())

    def _back(self, excess: torch.Tensor) -> torch.Tensor:
        return _times(self.matrix, _times(self._inverse, excess), transposed=True)


@dataclass(eq=False)
class HalfSpaces:
    """A y <= b, many half-spaces at once. A: (k, d) or (B, k, d), dense or sparse; b: (k,) or (B, k).

    project: with gaps g = max(0, A y - b) and w = g / |a|^2, the projection onto the one half-space
    sum_k w_k (a_k y - b_k) <= 0, which contains their intersection: y - (sum w g / |A^T w|^2) A^T w. This is the
    extrapolated simultaneous projection (Pierra 1984); with one row it is the exact projection.
    """

    matrix: torch.Tensor
    right: torch.Tensor
    _weight: torch.Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.matrix = _readable(self.matrix, self.right)
        square = _row_squares(self.matrix)
        self._weight = torch.where(square > 0, 1 / torch.where(square > 0, square, 1.0), 0.0)

    def project(self, y: torch.Tensor) -> torch.Tensor:
        gaps = self._gaps(y)
        pushes = gaps * self._weight
        step = _times(self.matrix, pushes, transposed=True)
        square = step.square().sum(-1)
        moving = square > 0
        length = torch.where(moving, (gaps * pushes).sum(-1) / torch.where(moving, square, 1.0), 0.0)
        return y - length.unsqueeze(-1) * step

    def violation(self, y: torch.Tensor) -> torch.Tensor:
        return _worst(self._gaps(y))

    def _gaps(self, y: torch.Tensor) -> torch.Tensor:
        return torch.where(self._weight > 0, _times(self.matrix, y) - self.right, 0.0).relu()

    def parts(self) -> list[HalfSpaces]:
        """One object for each row, dense, for methods that need exact projections."""
        matrix = _dense(self.matrix)
        count = matrix.shape[-2]
        return [HalfSpaces(matrix[..., k : k + 1, :], self.right[..., k : k + 1]) for k in range(count)]


@dataclass(eq=False)
class Box:
    """low <= y <= high: numbers or tensors (d,) or (B, d), infinite without a bound; low = high = 0 masks an entry."""

    low: torch.Tensor | float
    high: torch.Tensor | float

    def project(self, y: torch.Tensor) -> torch.Tensor:
        return torch.minimum(torch.maximum(y, self._like(self.low, y)), self._like(self.high, y))

    def violation(self, y: torch.Tensor) -> torch.Tensor:
        return _worst((y - self.project(y)).abs())

    @staticmethod
    def _like(bound: torch.Tensor | float, y: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(bound, dtype=y.dtype, device=y.device)


@dataclass(eq=False)
class NonNegative:
    """y >= 0."""

    def project(self, y: torch.Tensor) -> torch.Tensor:
        return y.relu()

    def violation(self, y: torch.Tensor) -> torch.Tensor:
        return _worst((-y).relu())


@dataclass(eq=False)
class Simplex:
    """y >= 0 with sum y = total > 0, along the last axis of y as (B, *shape); shape None: (d,).

    project: max(0, y - theta), where theta comes from sorting (Held, Wolfe, Crowder 1974).
    """

    total: float = 1.0
    shape: tuple[int, ...] | None = None

    def project(self, y: torch.Tensor) -> torch.Tensor:
        rows = self._rows(y)
        ordered = rows.sort(-1, descending=True).values
        excess = ordered.cumsum(-1) - self.total
        count = torch.arange(1, rows.shape[-1] + 1, dtype=y.dtype, device=y.device)
        positive = (ordered * count > excess).sum(-1, keepdim=True).clamp_min(1)
        theta = excess.gather(-1, positive - 1) / positive
        return (rows - theta).relu().reshape(y.shape)

    def violation(self, y: torch.Tensor) -> torch.Tensor:
        rows = self._rows(y)
        sums = (rows.sum(-1) - self.total).abs().reshape(len(y), -1)
        return torch.maximum(_worst(sums), _worst((-y).relu()))

    def _rows(self, y: torch.Tensor) -> torch.Tensor:
        return y.reshape(y.shape[0], *(self.shape or y.shape[1:]))
