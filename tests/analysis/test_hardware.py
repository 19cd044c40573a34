"""Orders timed on hardware, by hand: ratios, references that cannot win by noise, correlations, reasons."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline import tables
from pipeline.analysis import hardware
from pipeline.analysis.cycles import Scheduled
from pipeline.config.evidence import Intervals
from pipeline.config.params import load
from pipeline.report.processors import cycles as scheduling
from pipeline.report.processors import hardware as section
from pipeline.report.templates import template
from pipeline.wiring import ROOT

SETTINGS = Intervals(bootstrap_samples=100, confidence=0.95)
PARAMS = load(ROOT / "params.yaml")
ORDERS = [(0, 1, 2), (0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0)]


def timings() -> pd.DataFrame:
    """Two blocks; the first four orders are random ones, too, but for the control. The last is a scheduler's."""
    rows = []
    for block, even, odd in (
        ("a", [10.0, 10.0, 8.0, 9.0, 5.0], [10.0, 10.0, 9.0, 8.0, 5.0]),
        ("b", [20.0, 22.0, 24.0, 26.0, 10.0], [20.0, 22.0, 24.0, 26.0, 10.0]),
    ):
        for number, order in enumerate(ORDERS):
            cycles = min(even[number], odd[number])
            rows.append((block, order, number == 1, number in (0, 2, 3), cycles, even[number], odd[number]))
    return pd.DataFrame(rows, columns=tables.SCHEMAS["timings"].names)


def blocks() -> pd.DataFrame:
    rows = [(b, 3, "", "", 2, 17.0, 1.5, "a chip") for b in "ab"] + [
        ("c", 4, "division fault", "div ecx", 0, 0.0, 0.0, "a chip")
    ]
    return pd.DataFrame(rows, columns=tables.SCHEMAS["timed_blocks"].names)


def values(table: pd.DataFrame) -> pd.Series:
    return table.set_index(["scheduler", "metric"])["value"]


def test_schedulers_against_gccs_order() -> None:
    made = Scheduled("search", "none", 0, {"a": (2, 1, 0), "b": (0, 1, 2)})
    lengths = pd.Series({"a": 3, "b": 3})
    table = hardware.schedulers("test_5", "atom", timings(), lengths, [made], SETTINGS)
    assert values(table[table["seed"] == "all"])["search", "cycles_ratio_to_gcc_hardware_atom"] == pytest.approx(
        np.sqrt(0.5)
    )


def test_references() -> None:
    found = values(hardware.references("test_5", timings(), SETTINGS)).droplevel("metric")
    assert found["gcc_again"] == pytest.approx(np.sqrt(1.1))
    assert found["random_orders"] == pytest.approx(np.exp((np.log(0.8) / 3 * 2 + np.log(1.2 * 1.3) / 3) / 2))
    # Of block a, the order with 8 cycles by even trials has 9 by the others; of b, GCC's own. No scheduler's order.
    assert found["best_of_random_orders"] == pytest.approx(np.sqrt(0.9))


def test_quality_and_outcomes() -> None:
    found = values(hardware.quality("test_5", timings(), blocks(), SETTINGS))["none"]
    assert found["hardware_timed_share"] == pytest.approx(2 / 3)
    assert found["hardware_repeat_cv_median"] == 0 and found["hardware_fence_cycles_median"] == 17
    assert found["hardware_gcc_cycles_median"] == 16
    counted = hardware.outcomes("test_5", blocks())
    assert counted[["outcome", "blocks", "example"]].to_numpy().tolist() == [
        ["timed", 2, ""],
        ["division fault", 1, "div ecx"],
    ]


def test_correlations_within_blocks() -> None:
    opposite = {
        (block, order): -cycles for block, order, cycles in timings()[["block_id", "order", "cycles"]].to_numpy()
    }
    ties = {("a", order): 1.0 for order in ORDERS} | {("b", o): float(n) for n, o in enumerate(ORDERS)}
    table = hardware.correlations("test_5", timings(), {"opposite": opposite, "ties": ties, "no": {}}, SETTINGS)
    found = table.set_index("metric")[["value", "n_blocks"]]
    assert found.loc["rank_correlation_with_hardware_itself"].tolist() == [pytest.approx((0.5 + 1) / 2), 2]
    # The two orders of block a that take 8 cycles each are a tie in both.
    assert found.loc["rank_correlation_with_hardware_opposite"].tolist() == [pytest.approx(-1), 2]
    assert found.loc["rank_correlation_with_hardware_ties"].tolist() == [pytest.approx(1), 1]
    assert found.loc["rank_correlation_with_hardware_no", "n_blocks"] == 0


def results() -> pd.DataFrame:
    made = Scheduled("search", "none", 0, {"a": (2, 1, 0), "b": (0, 1, 2)})
    return pd.concat(
        [
            hardware.schedulers("test_5", "atom", timings(), pd.Series({"a": 3, "b": 3}), [made], SETTINGS),
            hardware.references("test_5", timings(), SETTINGS),
            hardware.quality("test_5", timings(), blocks(), SETTINGS),
            hardware.correlations("test_5", timings(), {"llvm_mca_atom": {}}, SETTINGS),
        ]
    )


def render(found: section.Section) -> str:
    return template("processors/hardware.md.j2").render(hardware=found, timed=PARAMS.hardware)


def test_the_section_shows_every_table() -> None:
    found = section.section(results(), hardware.outcomes("test_5", blocks()), PARAMS.scheduling)
    text = render(found)
    assert "a chip" in text and "| Search | - | 0.7071" in text and "Made for atom" in text
    assert (
        "| GCC's order, timed again | 1.0488" in text and "| 5 instructions | division fault | 1 | `div ecx` |" in text
    )
    assert "| Hardware itself, other trials | 0.750" in text and "| llvm-mca, atom | - | 0 |" in text
    assert "| 5 instructions | 2 | 66.7% | 0.00% | 1.66% | 16.0 | 17.0 |" in text


def test_the_section_of_processor_models_shows_none_of_it() -> None:
    nothing = pd.DataFrame()
    assert not scheduling.section(results(), nothing, nothing, PARAMS.scheduling).ratios


def test_without_rows_the_command_is_named() -> None:
    text = render(
        section.section(
            results()[:0], pd.DataFrame(columns=tables.SCHEMAS["hardware_outcomes"].names), PARAMS.scheduling
        )
    )
    assert "`snakemake data/published/hardware.done`" in text and "|" not in text
