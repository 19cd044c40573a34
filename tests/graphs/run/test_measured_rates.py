"""Rates from known durations, and durations from invented records."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.run.executable import problem
from learned_schedulers.graphs.run.measured_rates import Observed, observed, rates
from learned_schedulers.graphs.run.pair import Record
from tests.graphs.problems import drawn
from tests.graphs.run.made import tiny

TRUE = np.array([1e-5, 1 / 2e10, 1 / 8e9, 1 / 7e9, 1 / 5e9])
NAMES = ["operation_seconds", "flops_per_second", "swept_bytes_per_second", "written_bytes_per_second"]
NAMES += ["copied_bytes_per_second"]


def test_rates_come_back_from_exact_durations_and_from_noisy_ones() -> None:
    rng = np.random.default_rng(0)
    work = rng.random((500, 5)) * [0, 1e8, 1e6, 1e6, 1e6] + [1, 0, 0, 0, 0]
    expected = [TRUE[0], *(1 / TRUE[1:])]
    exact = rates([Observed(work[:200], work[:200] @ TRUE), Observed(work[200:], work[200:] @ TRUE)])
    assert [exact[name] for name in NAMES] == pytest.approx(expected, rel=1e-6)
    assert exact["median_relative_error"] == pytest.approx(0, abs=1e-9)
    noisy = rates([Observed(work, work @ TRUE * rng.normal(1, 0.02, 500))])
    assert noisy["flops_per_second"] == pytest.approx(2e10, rel=0.05)
    assert 0.005 < noisy["median_relative_error"] < 0.03


def test_what_takes_no_time_has_an_infinite_rate() -> None:
    work = np.array([[1, 1e8, 0, 0, 0], [1, 2e8, 0, 1e6, 0], [1, 3e8, 1e6, 0, 1e6]])
    result = rates([Observed(work, work[:, 1] / 1e10)])
    assert result["flops_per_second"] == pytest.approx(1e10) and result["written_bytes_per_second"] == np.inf


def test_durations_are_medians_of_runs_with_the_same_copies() -> None:
    """An operation copies its parents' results from the other device unless an earlier operation fetched them."""
    graph = tiny(1)
    parents = problem(graph).parents
    orders, placements = drawn.schedules(problem(graph), np.random.default_rng(0), 3)
    sequence = np.array([0, 1, 2, 0, 1])
    begins = np.zeros((5, len(graph)))
    result = observed(
        graph, orders, placements, sequence, Record(begins, begins + [[1.0], [5.0], [6.0], [2.0], [9.0]], np.zeros(5))
    )
    durations: dict[tuple[int, float], list[float]] = {}
    for s, of_runs in ((0, [1.0, 2.0]), (1, [5.0, 9.0]), (2, [6.0])):
        for device in (0, 1):
            fetched: set[int] = set()
            for i in (int(i) for i in orders[s] if placements[s][i] == device):
                of = parents.targets[parents.offsets[i] : parents.offsets[i + 1]].tolist()
                new = {parent for parent in of if placements[s][parent] != device} - fetched
                fetched |= new
                durations.setdefault((i, sum(int(graph.bytes_written[j]) for j in new)), []).extend(of_runs)
    expected = sorted((graph.flops[i], copied, np.median(of)) for (i, copied), of in durations.items())
    assert sorted(zip(result.work[:, 1], result.work[:, 4], result.seconds, strict=True)) == expected
