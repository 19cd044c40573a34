"""Exponents of growth, and plans that are multiples of measured costs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pipeline.lab.growth import exponent
from pipeline.scale import plan

SIZES = np.array([1e6, 3e6, 1e7, 3e7])
_RULE = {"processor_seconds": 3600.0, "serial_seconds": 0.0, "peak_memory_gb": 0.5, "bytes_read": 5, "bytes_written": 7}
RULES = pd.DataFrame(
    [
        _RULE | {"blocks": 1000, "rule": "ingest", "jobs": 1, "processor_seconds": 1e9},
        _RULE | {"blocks": 10_000, "rule": "ingest", "jobs": 4},
        _RULE | {"blocks": 10_000, "rule": "dags", "jobs": 1, "serial_seconds": 360.0},
    ]
)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.2])
def test_the_exponent_of_a_power_is_exact(power: float) -> None:
    slope = exponent(SIZES, 3 * SIZES**power)
    assert np.allclose([slope.value, slope.low, slope.high], power) and slope.n == 4


def test_the_interval_shows_a_size_that_differs() -> None:
    slope = exponent(SIZES, SIZES * [1, 1, 1, 2])
    assert slope.low == pytest.approx(1.0) and slope.low < slope.value < slope.high


def test_two_sizes_have_no_interval() -> None:
    slope = exponent(SIZES[:2], SIZES[:2])
    assert slope.value == pytest.approx(1.0) and math.isnan(slope.low) and math.isnan(slope.high)


SIZES_TABLE = pd.DataFrame({"blocks": [1000, 10_000], "processor_seconds": [1e9, 2 * 3600.0 + 36]})


def test_the_largest_corpus_is_multiplied() -> None:
    ingest, dags, snakemake = plan.of_blocks(RULES, SIZES_TABLE, 1_000_000)
    assert (ingest.rule, ingest.jobs, ingest.processor_hours, ingest.serial_hours) == ("ingest", 400, 100, 0)
    assert (ingest.bytes_read, ingest.bytes_written, ingest.gigabytes_of_memory) == (500, 700, 0.5)
    assert (dags.jobs, dags.processor_hours, dags.serial_hours) == (1, 100, 10)
    assert (snakemake.processor_hours, snakemake.serial_hours) == (1, 1)
    assert plan.of_blocks(RULES[:0], SIZES_TABLE) == []


def test_a_single_job_has_one_node_and_its_serial_part_one_core() -> None:
    ingest, dags, _ = plan.of_blocks(RULES, SIZES_TABLE, 1_000_000)
    assert plan.hours(ingest, 2, cores=10) == 5 and plan.hours(ingest, 1, cores=10) == 10
    assert plan.hours(ingest, 1000, cores=10) == 100 / 400  # no more cores than jobs
    assert plan.hours(dags, 1, cores=10) == plan.hours(dags, 16, cores=10) == 10 + 90 / 10


def test_graphs_of_each_size_are_searched() -> None:
    costs = pd.DataFrame(
        [
            {"lengths": size, "metric": metric, "value": value}
            for size, seconds in (("1000", 0.1), ("300", 0.05))
            for metric, value in (("update_seconds", seconds), ("update_gigabytes", 0.5), ("decision_seconds", 9.0))
        ]
    )
    stored = pd.DataFrame([{"lengths": "1000", "metric": "graph_bytes", "value": 12_000.0}])
    small, large = plan.of_graphs(costs, stored, 3600)
    assert (small.operations, large.operations) == (300, 1000)
    updates = plan.EVALUATIONS / 20
    assert large.core_seconds == pytest.approx(0.1 * updates) == large.core_hours
    assert large.node_gigabytes == 32 and large.bytes_stored == 12_000 * 3600 and math.isnan(small.bytes_stored)
