"""Curves against seconds; only methods that need no target and no network are timed."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.graph_method_speed import best_within, pieces, run, timed
from pipeline.config.graph_methods import graph_entry
from pipeline.config.params import load
from tests.graphs.problems.drawn import problem


def test_the_best_so_far_at_each_moment() -> None:
    best = best_within(np.array([1.0, 2.0, 5.0]), np.array([1.5, 1.25, 1.0]), np.array([0.5, 1.0, 4.9, 60.0]))
    np.testing.assert_array_equal(best, [np.nan, 1.5, 1.25, 1.0])


def test_a_curve_begins_where_every_graph_has_a_schedule() -> None:
    method_runs = [(np.array([0.001]), np.array([1.0]), 0.001), (np.array([0.01, 0.1]), np.array([4.0, 1.0]), 0.1)]
    place = {"experiment": "e", "set": "s", "target": "proxy", "method": "m", "decoder": "none", "seed": "0"}
    rows = [(float(row["part"]), row["value"]) for row in pieces(place | {"metric": "makespan"}, method_runs)]
    assert rows[0] == (pytest.approx(0.01, rel=1e-3), pytest.approx(2.0))
    assert rows[-1] == (pytest.approx(0.1, rel=1e-3), pytest.approx(1.0))


def test_a_method_is_run_with_its_budget() -> None:
    entry = graph_entry("randomised_list", least_noise=0.1, most_noise=0.1)
    seconds, ratios, whole = run(entry, "00ff", problem(np.random.default_rng(0), 20), 0)
    assert len(seconds) == len(ratios) > 3 and (np.diff(ratios) <= 0).all() and 0 < seconds[-1] <= whole


def test_methods_that_know_the_target_or_have_a_network_are_not_timed() -> None:
    names = set(timed(load()))
    assert {"random_valid", "randomised_list", "cp_sat"} <= names
    assert not names & {"heft", "annealing_on_target", "gflownet"}
