"""Expected and measured seconds of operations, and the rows that are published of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.own_model_times import Times, _together, times_of
from learned_schedulers.graphs.run.core import Core

CORE = Core(
    {"products": 8e10, "convolutions": 1e11, "functions": 1e9, "windows": 4e8}, {"float32": 8e10}, 2e10, 5e-6, 1e10, 1e9
)


@pytest.mark.slow
def test_every_operation_of_a_model_has_two_times() -> None:
    times = times_of("benchmarks.own_model_times:Segments", "1,3,16,16", CORE, 2)
    assert len(times.kinds) == len(times.expected) == len(times.measured) > 20
    assert {"convolution", "native_group_norm", "cat", "_softmax"} <= set(times.kinds)
    assert (times.expected >= 5e-6).all() and (times.measured > 0).all()


@pytest.mark.slow
def test_numbers_over_all_models() -> None:
    expected = np.arange(1.0, 7.0)
    rows = _together(
        {
            "first": Times(("add",) * 6, expected, 2 * expected),
            "second": Times(("mul",) * 5 + ("mm",), expected, 4 * expected),
        }
    )
    values = {(row["metric"], row["judge"]): row["value"] for row in rows}
    assert values["kind_ratio", "add"] == 2 and values["kind_ratio", "mul"] == 4 and ("kind_ratio", "mm") not in values
    assert 0.8 < values["rank_correlation", "none"] < 1 and values["operations", "none"] == 12
    assert values["median_error", "none"] == pytest.approx(0.625)
    correlation = next(row for row in rows if row["metric"] == "rank_correlation")
    assert correlation["low"] <= correlation["value"] <= correlation["high"] == 1
    assert correlation["set"] == "all" and correlation["interval_of"] == "models"
