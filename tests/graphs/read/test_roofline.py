"""The roofline by hand, memory that counts only if it can bind, and messages about missing run times."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.devices.settings import Device
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.read.roofline import problem_of, seconds

DEVICE = Device(flops_per_second=100.0, bytes_per_second=10.0, launch_seconds=0.5, memory_bytes=50.0)


def pair(seconds_of_file: np.ndarray | None = None) -> Graph:
    """A graph of two operations, one bound by arithmetic, one by memory."""
    operations = Operations(
        kinds=["mm", "add"],
        flops=np.array([1000.0, 10.0]),
        bytes_read=np.array([10, 20]),
        bytes_written=np.array([20, 10]),
        bytes_kept=np.array([5, 0]),
        seconds=seconds_of_file,
    )
    return graph("pair", "none", "forward", operations, np.array([0]), np.array([1]))[0]


def test_by_hand() -> None:
    assert seconds(pair(), DEVICE).tolist() == [0.5 + 10.0, 0.5 + 3.0]
    problem = problem_of(pair(), 2, DEVICE)
    assert problem.seconds.tolist() == [10.5, 3.5] and problem.sizes.tolist() == [20.0, 10.0]
    assert problem.weights.tolist() == [5.0, 0.0] and problem.transfers.delay == problem.transfers.slope == 0


def test_memory_counts_where_it_can_be_too_small() -> None:
    """All results and weights together have 35 bytes."""
    assert np.isinf(problem_of(pair(), 2, DEVICE).memory)
    assert problem_of(pair(), 2, DEVICE, memory=34.0).memory == 34.0
    assert np.isinf(problem_of(pair(), 2, DEVICE, memory=35.0).memory)
    assert problem_of(pair(), 2, DEVICE.model_copy(update={"memory_bytes": 30.0})).memory == 30.0


def test_own_run_times_win_and_none_at_all_is_refused() -> None:
    seconds_of_file = np.array([1.0, 2.0])
    assert problem_of(pair(seconds_of_file), 2, DEVICE).seconds.tolist() == [1.0, 2.0]
    assert np.isinf(problem_of(pair(seconds_of_file), 2).memory)
    with pytest.raises(ValueError, match="graph pair: it has no run times; name a device"):
        problem_of(pair(), 2)
