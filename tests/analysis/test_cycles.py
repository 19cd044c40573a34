"""Cycles of orders against GCC's and the best: by hand, and blocks that a model does not know."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.analysis import cycles
from pipeline.config.evidence import Intervals

LENGTHS = pd.Series({"a": 2, "b": 2, "c": 3, "unknown": 2})
CYCLES: cycles.Cycles = {
    ("a", (0, 1)): 10.0,
    ("a", (1, 0)): 5.0,
    ("b", (0, 1)): 4.0,
    ("b", (1, 0)): 8.0,
    ("c", (0, 1, 2)): 6.0,
    ("c", (1, 0, 2)): 6.0,
}
SWAPPED = {"a": (1, 0), "b": (1, 0), "c": (1, 0, 2), "unknown": (1, 0)}
GCC = {"a": (0, 1), "b": (0, 1), "c": (0, 1, 2), "unknown": (0, 1)}
SETTINGS = Intervals(bootstrap_samples=200, confidence=0.95)


def scheduled() -> list[cycles.Scheduled]:
    return [
        cycles.Scheduled("gcc", "none", 0, GCC),
        cycles.Scheduled("swapping", "greedy", 0, SWAPPED),
        cycles.Scheduled("swapping", "greedy", 1, {"a": (1, 0)}),
    ]


def test_ratios_to_gcc_and_to_the_best_order_of_all() -> None:
    to_gcc = cycles.ratios(CYCLES, LENGTHS, scheduled(), "gcc")
    np.testing.assert_array_equal(to_gcc["ratio"][0], [1, 1, 1, np.nan])
    np.testing.assert_array_equal(to_gcc["ratio"][1], [0.5, 2, 1, np.nan])
    np.testing.assert_array_equal(to_gcc["ratio"][2], [0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(to_gcc["as_gcc"][0], [1, 1, 1, np.nan])
    np.testing.assert_array_equal(to_gcc["as_gcc"][2], [0, np.nan, np.nan, np.nan])
    to_best = cycles.ratios(CYCLES, LENGTHS, scheduled(), "best")
    np.testing.assert_array_equal(to_best["ratio"][0], [2, 1, 1, np.nan])
    np.testing.assert_array_equal(to_best["ratio"][1], [1, 2, 1, np.nan])


def test_results_are_geometric_means_and_shares() -> None:
    to_gcc, to_best = (cycles.ratios(CYCLES, LENGTHS, scheduled()[:2], to) for to in ("gcc", "best"))  # type: ignore[arg-type]
    table = cycles.results("test_5", "atom", to_gcc, to_best, SETTINGS)
    found = table[table["seed"] == "all"].set_index(["scheduler", "metric"])["value"]
    assert found["swapping", "cycles_ratio_to_gcc_atom"] == pytest.approx(1.0)  # 0.5 x 2 x 1
    assert found["swapping", "mean_cycles_ratio_to_gcc_atom"] == pytest.approx(3.5 / 3)
    assert found["swapping", "cycles_ratio_to_best_atom"] == pytest.approx(2 ** (1 / 3))
    assert found["gcc", "cycles_ratio_to_best_atom"] == pytest.approx(2 ** (1 / 3))
    for share in ("fewer_cycles_than", "as_many_cycles_as", "more_cycles_than"):
        assert found["swapping", f"{share}_gcc_share_atom"] == pytest.approx(1 / 3)
    assert (found["gcc", "gcc_order_share_atom"], found["swapping", "gcc_order_share_atom"]) == (1, 0)
    assert set(table["n_blocks"]) == {3}
    row = table[(table["scheduler"] == "swapping") & (table["metric"] == "cycles_ratio_to_gcc_atom")].iloc[0]
    assert 0.5 <= row["ci_low"] < 1 < row["ci_high"] <= 2


def test_by_length_the_first_seed_counts() -> None:
    to_gcc = cycles.ratios(CYCLES, LENGTHS, scheduled()[::-1], "gcc")
    table = cycles.by_length("test_5", "atom", to_gcc, LENGTHS + 3, SETTINGS)
    assert set(table["part"]) == {"5-7"}
    own = table[table["scheduler"] == "swapping"].iloc[0]
    assert (own["seed"], own["ratio"], own["n_blocks"]) == ("0", pytest.approx(1.0), 3)
