"""Residuals and speeds of the projection as rows of results, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.lab.shared_tables import RESULTS
from pipeline.operator import results as operator_results
from pipeline.operator.tables import PEERS, RESIDUALS


def residuals() -> pd.DataFrame:
    """Blocks of 5 instructions; `logits` and iterations that are not shown do not count."""
    rows = [
        ("softmax", "cyclic", 20, True, 0.5, np.nan),
        ("softmax", "cyclic", 60, False, 0.25, np.nan),
        ("softmax", "extrapolated_alone", 60, True, 2e-5, 0.125),
        ("softmax", "nearest", 0, True, 4e-7, np.nan),
        ("logits", "cyclic", 20, True, 0.75, np.nan),
    ]
    names = ["proposal", "method", "iterations", "is_default", "residual_median", "straggler_share"]
    frame = pd.DataFrame(rows, columns=names)
    same = {"residual_p99": frame["residual_median"], "residual_max": frame["residual_median"], "within_share": 1.0}
    return frame.assign(n_instructions=5, n_blocks=900, edges_mean=3.0, **same)[RESIDUALS.schema.names]


def test_residuals_become_rows_at_the_default_and_after_some_iterations() -> None:
    table = operator_results.residual_rows(residuals(), [20])
    assert list(table.columns) == RESULTS.schema.names
    assert {(row.experiment, row.set, row.seed, row.lengths, row.n) for row in table.itertuples()} == {
        ("residuals", "all", "none", "5", 900)
    }
    numbers = table.set_index(["method", "metric", "iterations"])["value"].to_dict()
    assert numbers["cyclic", "residual_median", "none"] == 0.5 == numbers["cyclic", "residual_median", "20"]
    assert numbers["nearest", "residual_max", "none"] == 4e-7
    assert numbers["extrapolated_alone", "straggler_share", "none"] == 0.125
    assert ("cyclic", "residual_median", "60") not in numbers and ("cyclic", "straggler_share", "none") not in numbers


def speed() -> pd.DataFrame:
    """qpth takes 0.8 s for 10 instructions, LinSATNet fails; our times grow with the square of the size."""
    cases = [
        ("corpus", "cyclic", 10, 1e-3),
        ("corpus", "extrapolated", 10, 2e-3),
        ("corpus", "nearest", 10, 4e-3),
        ("corpus", "qpth", 10, 0.8),
        ("corpus", "linsatnet", 10, np.nan),
        *(("random", "extrapolated", n, 1e-6 * n**2) for n in (16, 32, 64, 128)),
    ]
    rows = [
        (peer, dags, n, 256, 64, 0, seconds, 1e-8, 1e-7, 5.0, "" if seconds == seconds else "killed")
        for dags, peer, n, seconds in cases
    ]
    return pd.DataFrame(rows, columns=PEERS.schema.names)


def test_speedups_are_ratios_of_seconds_and_growth_is_that_of_random_dags() -> None:
    table = operator_results.speed_rows(speed())
    assert list(table.columns) == RESULTS.schema.names and set(table["experiment"]) == {"operator_speed"}
    ratios = table[table["metric"] == "speedup"].set_index(["method", "baseline", "lengths"])["value"].to_dict()
    assert ratios["extrapolated", "qpth", "10"] == pytest.approx(400)
    assert ratios["nearest", "qpth", "10"] == pytest.approx(200)
    assert np.isnan(ratios["extrapolated", "linsatnet", "10"])  # it failed
    assert {baseline for _, baseline, _ in ratios} == {"qpth", "linsatnet"}
    units = dict(zip(table["metric"], table["unit"], strict=True))
    assert (units["speedup"], units["seconds_per_batch"], units["peak_memory_mb"]) == ("ratio", "seconds", "MB")
    [growth] = table[table["metric"] == "growth_exponent"].itertuples()
    assert (growth.method, growth.lengths, growth.n) == ("extrapolated", "all", 64)
    assert growth.value == pytest.approx(2)
