"""Agreement of simulated targets with measured makespans: known answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.execution.machine_agreement import distinct, fastest, rank_correlations, relative_difference
from tests.analysis.timed import simulated, timings


def test_by_hand() -> None:
    """Four schedules: with equal ranks, reversed, and with two neighbours swapped; slow repeats do not count."""
    true = np.array([1.0, 2.0, 3.0, 4.0])
    seconds = np.stack([np.stack([true, true * 9]), np.stack([true[::-1] * 50, true * 1.1])])
    simulations = pd.concat(
        [
            simulated("proxy", true * 7),
            simulated("latency", -true),
            simulated("noisy", true[[1, 0, 2, 3]]),
            simulated("constant", np.ones(4)),
        ]
    )
    measured = fastest(timings(seconds))
    correlations = dict(rank_correlations(measured, simulations))
    assert correlations == {"this_machine": 1.0, "latency": -1.0, "noisy": pytest.approx(0.8), "proxy": 1.0}
    assert relative_difference(measured) == pytest.approx(0.1)


def test_the_same_schedule_of_two_methods_counts_once() -> None:
    seconds = np.random.default_rng(0).random((2, 3, 4))
    frame = timings(seconds)
    measured = fastest(pd.concat([frame, frame[frame["schedule"] == 2].assign(method="heft")]))
    assert len(measured) == 5 and len(distinct(measured)) == 4
    assert measured.loc[("list_scheduling", 0, 1), 1] == seconds[1, :, 1].min()


def test_what_was_not_simulated_is_named() -> None:
    seconds = np.random.default_rng(0).random((2, 2, 4))
    with pytest.raises(ValueError, match=r"graph g: schedule 3 of list_scheduling, seed 0, .* has no cost on proxy"):
        list(rank_correlations(fastest(timings(seconds)), simulated("proxy", np.arange(3.0))))
