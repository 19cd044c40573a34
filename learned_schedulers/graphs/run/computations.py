"""The computation of an operation, by torch in one thread: a matrix product, a sweep over memory, and its result.

All buffers are allocated in advance; a device may run any operation of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

_WIDTH = 64  # columns of a product: its right factor, 16 KiB, stays in the first-level cache
_SWEPT = 2**24  # float32 values of the memory for sweeps, 64 MiB: more than a core's private caches
_FLOAT = 4  # bytes of a float32
FLOPS_OF_A_ROW = 2 * _WIDTH**2


@dataclass(frozen=True)
class Costs:
    """Work of the n operations of an executable graph, (n,) each."""

    flops: np.ndarray
    swept: np.ndarray  # bytes read and written by the sweep
    written: np.ndarray  # bytes of the result


class Computations:
    """The operations of one graph."""

    def __init__(self, costs: Costs) -> None:
        rows = np.rint(costs.flops / FLOPS_OF_A_ROW).astype(np.int64).tolist()
        most = max(rows, default=0)
        left_factor = torch.ones(most, _WIDTH)
        out = torch.empty(most, _WIDTH).zero_()  # written once, so that no page faults occur later
        self._right = torch.full((_WIDTH, _WIDTH), 1 / _WIDTH)
        self._products = [(left_factor[:count], out[:count]) for count in rows]
        lengths = np.rint(costs.swept / (2 * _FLOAT)).astype(np.int64).tolist()
        self._sweeps = _windows(torch.ones(_SWEPT), lengths)

    def compute(self, operation: int) -> None:
        left_factor, out = self._products[operation]
        if len(left_factor):
            torch.mm(left_factor, self._right, out=out)
        for window in self._sweeps[operation]:
            window.neg_()


def _windows(memory: torch.Tensor, lengths: list[int]) -> list[list[torch.Tensor]]:
    """For each length, views of the memory with so many numbers in total; each view begins where the last one ended."""
    begin, windows = 0, []
    for length in lengths:
        views = []
        while length > 0:
            view = memory[begin : begin + length]
            views.append(view)
            length -= len(view)
            begin = (begin + len(view)) % len(memory)
        windows.append(views)
    return windows
