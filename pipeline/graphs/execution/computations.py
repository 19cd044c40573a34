"""What an operation computes, by torch in one thread: a product of matrices, a sweep over memory, its result.

All buffers are made beforehand; a device may run any operation of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

_WIDTH = 64  # columns of a product: its right factor, 16 KiB, stays in the first cache
_SWEPT = 2**24  # float32 of the memory that is swept over, 64 MiB: more than a core's own caches
_FLOAT = 4  # bytes
FLOPS_OF_A_ROW = 2 * _WIDTH**2


@dataclass(frozen=True)
class Costs:
    """What the n operations of an executable graph do, (n,) each."""

    flops: np.ndarray
    swept: np.ndarray  # bytes read and written by the sweep
    written: np.ndarray  # bytes of the result


class Computations:
    """The operations of one graph."""

    def __init__(self, costs: Costs) -> None:
        rows = np.rint(costs.flops / FLOPS_OF_A_ROW).astype(np.int64).tolist()
        most = max(rows, default=0)
        left, out = torch.ones(most, _WIDTH), torch.empty(most, _WIDTH).zero_()  # touched: no page faults later
        self._right = torch.full((_WIDTH, _WIDTH), 1 / _WIDTH)
        self._products = [(left[:count], out[:count]) for count in rows]
        lengths = np.rint(costs.swept / (2 * _FLOAT)).astype(np.int64).tolist()
        self._sweeps = _windows(torch.ones(_SWEPT), lengths)

    def compute(self, operation: int) -> None:
        left, out = self._products[operation]
        if len(left):
            torch.mm(left, self._right, out=out)
        for window in self._sweeps[operation]:
            window.neg_()


def _windows(memory: torch.Tensor, lengths: list[int]) -> list[list[torch.Tensor]]:
    """For each length views of the memory with as many numbers in all: one begins where the one before ended."""
    at, windows = 0, []
    for length in lengths:
        views = []
        while length > 0:
            view = memory[at : at + length]
            views.append(view)
            length -= len(view)
            at = (at + len(view)) % len(memory)
        windows.append(views)
    return windows
