"""The times of a schedule against the oracle over networkx."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.devices.simulator import makespans, peaks
from learned_schedulers.graphs.devices.timeline import timeline, usage
from learned_schedulers.graphs.problems.problem import Transfers
from tests.graphs.devices import oracle
from tests.graphs.problems import drawn


@pytest.mark.parametrize("seed", range(10))
def test_times_are_those_of_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 15, 3, 0.3)
    orders, placements = drawn.schedules(problem, rng, 1)
    order, placement = orders[0], placements[0]
    times, ends = timeline(problem, order, placement), oracle.ends(problem, order, placement)
    assert times.ends.tolist() == pytest.approx([ends[i] for i in range(15)])
    assert times.makespan == pytest.approx(makespans(problem, orders, placements)[0])
    assert (times.ends - times.begins).tolist() == pytest.approx(problem.seconds.tolist())
    sent = set()
    for i, j in zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True):
        if placement[i] != placement[j]:
            sent.add((i, int(placement[j])))
    assert sorted(sent) == list(zip(times.results.tolist(), times.receivers.tolist(), strict=True))
    assert (times.senders != times.receivers).all()
    for result, departs, arrives in zip(times.results, times.departures, times.arrivals, strict=True):
        travels = problem.transfers.slope * problem.sizes[result] + problem.transfers.delay
        assert departs == pytest.approx(ends[result]) and arrives - departs == pytest.approx(travels)


def test_no_operation_has_no_times() -> None:
    empty = drawn.problem(np.random.default_rng(0), 0)
    times = timeline(empty, np.zeros(0, np.int32), np.zeros(0, np.int32))
    assert times.makespan == 0.0 and len(times.results) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_most_is_the_peak_and_what_is_left_are_weights(seed: int) -> None:
    problem = drawn.problem(np.random.default_rng(seed), 20)
    whole = np.ceil(8 * problem.seconds) / 8  # eighths, whose sums are not rounded
    problem = replace(problem, seconds=whole, transfers=Transfers(0.0, 0.25))
    orders, placements = drawn.schedules(problem, np.random.default_rng(seed), 1)
    curves = usage(problem, orders[0], placements[0])
    weights = np.bincount(placements[0], problem.weights, problem.devices)
    assert [size.max() for _, size in curves] == pytest.approx(peaks(problem, orders[0], placements[0]).tolist())
    for device, (seconds, size) in enumerate(curves):
        assert seconds[0] == 0 and (np.diff(seconds) > 0).all()
        assert size[-1] == pytest.approx(weights[device]) and (size >= weights[device] - 1e-9).all()
