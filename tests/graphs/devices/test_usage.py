"""Memory over time: its maximum is the peak, and at the end only weights remain."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.graphs.devices.simulator import peaks
from pipeline.graphs.devices.usage import usage
from tests.graphs.problems import drawn


@pytest.mark.parametrize("seed", range(5))
def test_the_most_is_the_peak_and_what_is_left_are_weights(seed: int) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 20)
    orders, placements = drawn.schedules(problem, np.random.default_rng(seed), 1)
    curves = usage(problem, orders[0], placements[0])
    weights = np.bincount(placements[0], problem.weights, problem.devices)
    assert [size.max() for _, size in curves] == pytest.approx(peaks(problem, orders[0], placements[0]).tolist())
    for device, (seconds, size) in enumerate(curves):
        assert seconds[0] == 0 and (np.diff(seconds) > 0).all()
        assert size[-1] == pytest.approx(weights[device]) and (size >= weights[device] - 1e-9).all()
