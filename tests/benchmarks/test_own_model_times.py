"""Expected and measured seconds of operations, and the rows that are published of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.own_model_times import Times, _together


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
