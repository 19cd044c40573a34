"""The computations of operations, and the memory of their results."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.run import computations
from learned_schedulers.graphs.run.computations import FLOPS_OF_A_ROW, Computations, Costs
from learned_schedulers.graphs.run.shared_memory import Layout, SharedMemory


class Counted(torch.utils._python_dispatch.TorchDispatchMode):
    """Calls of torch: FLOPs of products and bytes that are read and written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.flops, self.bytes = 0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.mm.out:
            self.flops += 2 * args[0].shape[0] * args[0].shape[1] * args[1].shape[1]
        if func is torch.ops.aten.neg_.default:
            self.bytes += 2 * args[0].nbytes
        return func(*args, **(kwargs or {}))


def test_an_operation_computes_what_its_costs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product, a sweep longer than the sweep memory, both, and nothing."""
    monkeypatch.setattr(computations, "_SWEPT", 1000)
    costs = Costs(np.array([1e7, 0, 5e6, 0]), np.array([0, 20_000.0, 8_000, 0]), np.zeros(4))
    executed = Computations(costs)
    for i in range(4):
        with Counted() as counted:
            executed.compute(i)
        assert counted.flops == pytest.approx(costs.flops[i], abs=FLOPS_OF_A_ROW / 2)
        assert counted.bytes == costs.swept[i]


@given(st.lists(st.integers(0, 50), max_size=20), st.integers(1, 30))
def test_sweeps_go_on_where_the_one_before_ended(lengths: list[int], size: int) -> None:
    memory = torch.arange(size)
    swept = [number for views in computations._windows(memory, lengths) for view in views for number in view.tolist()]
    assert swept == [at % size for at in range(sum(lengths))]


@given(st.lists(st.integers(0, 500), max_size=10), st.integers(1, 5))
def test_no_two_results_share_a_line_of_the_cache(written: list[int], runs: int) -> None:
    layout = Layout(runs, np.array(written, np.int64))
    shared = SharedMemory.create(layout)
    os.close(shared.descriptor)
    assert shared.arrived.shape == shared.disturbances.shape == (runs, 2)
    assert shared.begins.shape == shared.ends.shape == shared.stamps.shape == (runs, len(written))
    assert [result.nbytes for result in shared.results] == [max(-(-size // 8) * 8, 8) for size in written]
    arrays = [shared.arrived, shared.disturbances, shared.begins, shared.ends, shared.stamps, *shared.results]
    for number, array in enumerate(arrays):
        assert not array.any()
        array[:] = number + 1
    assert all((array == number + 1).all() for number, array in enumerate(arrays)), "none lies over another one"
    lines = [result.ctypes.data // 64 for result in shared.results]
    assert len(set(lines)) == len(lines) and all(result.ctypes.data % 64 == 0 for result in shared.results)
