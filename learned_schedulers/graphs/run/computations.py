"""The work of executable graphs: an operation is a matrix product, a sweep over memory, and its result, by torch.

All buffers are allocated in advance; a device may run any operation of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from learned_schedulers.graphs.run.programs import Step, stamp
from learned_schedulers.graphs.run.shared_memory import SharedMemory

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


class StampedComputations:
    """The operations of a graph on one device: each copies what it reads, computes, and stamps its result."""

    def __init__(self, costs: Costs, shared: SharedMemory, device: int) -> None:
        self._shared, self._device = shared, device
        self._computations = Computations(costs)
        self._results = [torch.from_numpy(result) for result in shared.results]
        self._copies = [torch.zeros(len(result), dtype=torch.int64) for result in shared.results]

    def readable(self, placement: np.ndarray) -> list[np.ndarray]:
        """The arrays in which this device reads the result of each operation, (n,) placed."""
        return [
            result if placement[i] == self._device else self._copies[i].numpy()
            for i, result in enumerate(self._shared.results)
        ]

    def compute(self, step: Step, run: int, readable: Sequence[np.ndarray]) -> None:
        """readable: of the schedule."""
        i = step.operation
        for parent in step.fetched:
            self._copies[parent].copy_(self._results[parent])
        self._computations.compute(i)
        value = stamp(i, run, sum(int(readable[parent][-1]) for parent in step.parents))
        self._shared.stamps[run, i] = value
        self._results[i].fill_(value)


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
