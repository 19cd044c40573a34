"""Orders timed on hardware, by hand: ratios, references that cannot win by noise, correlations, reasons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import tables
from pipeline.analysis import hardware_task as hardware
from pipeline.analysis.hardware_task import evaluate
from pipeline.analysis.inputs import Inputs
from pipeline.analysis.rows import Row, results
from pipeline.config.intervals import Intervals
from pipeline.config.processors import Judge
from tests.analysis import laid

SETTINGS = Intervals(bootstrap_samples=100, confidence=0.95)
BOOTSTRAP = Inputs("hardware", SETTINGS).bootstrap
ORDERS = [(0, 1, 2), (0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1)]
PLACE = {"experiment": "hardware", "set": "test_5", "seed": "all"}


def timings() -> pd.DataFrame:
    """Two blocks; the first four orders are random ones, too, but for the control. The last is a method's."""
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


def values(rows: list[Row], column: str) -> dict[str, float]:
    table = results(rows)
    return dict(zip(table[column], table["value"], strict=True))


def test_references() -> None:
    found = values(hardware.references(PLACE, timings(), BOOTSTRAP), "method")
    assert found["gcc_again"] == pytest.approx(np.sqrt(1.1))
    assert found["random_orders"] == pytest.approx(np.exp((np.log(0.8) / 3 * 2 + np.log(1.2 * 1.3) / 3) / 2))
    # Of block a, the order with 8 cycles by even trials has 9 by the others; of b, GCC's own. No method's order.
    assert found["best_of_random_orders"] == pytest.approx(np.sqrt(0.9))


def test_quality() -> None:
    rows = hardware.quality(PLACE, timings(), blocks(), BOOTSTRAP)
    found = values(rows, "metric")
    assert found["timed_share"] == pytest.approx(2 / 3)
    assert found["repeat_cv_median"] == 0 and found["fence_cycles_median"] == 17 and found["gcc_cycles_median"] == 16
    assert {row["judge"] for row in rows} == {"hardware"}
    assert {row["unit"] for row in rows} == {"share", "1", "cycles"}


def test_correlations_within_blocks() -> None:
    opposite = {
        (block, order): -cycles for block, order, cycles in timings()[["block_id", "order", "cycles"]].to_numpy()
    }
    ties = {("a", order): 1.0 for order in ORDERS} | {("b", o): float(n) for n, o in enumerate(ORDERS)}
    rows = hardware.correlations(PLACE, timings(), {"opposite": opposite, "ties": ties, "no": {}}, BOOTSTRAP)
    found = {row["judge"]: (row["value"], row["n"]) for row in rows}
    assert found["itself"] == (pytest.approx((0.5 + 1) / 2), 2)
    # The two orders of block a that take 8 cycles each are a tie in both.
    assert found["opposite"] == (pytest.approx(-1), 2)
    assert found["ties"] == (pytest.approx(1), 1)
    assert found["no"][1] == 0


def test_the_task(tmp_path: Path) -> None:
    """Without fast models; llvm-mca ranks the orders of one block as hardware does, and knows no other."""
    said = {("a", order): cycles for order, cycles in zip(ORDERS, [3.0, 3.0, 1.0, 1.0, 1.0], strict=True)}
    made: dict[str, laid.Order | str] = {"a": (2, 0, 1), "b": (0, 1, 2), "c": "unsupported: div"}
    numbers = pd.DataFrame({"block_id": ["a", "b"], "encodings": [[0, 1, 2]] * 2})
    empty = tables.SCHEMAS["instructions"].empty_table().to_pandas()
    given = Inputs(
        "hardware",
        SETTINGS,
        {"atom": Judge(cpu="atom", iterations=1)},
        instructions=[laid.lay(tmp_path, "instructions", pd.concat([empty, numbers]), corpus="released")],
        schedules=[
            laid.schedules(tmp_path, made, "search", experiment="processors", set="test_5", target="atom"),
            laid.schedules(tmp_path, {}, "search", experiment="processors", set="test_10_40", target="atom"),
        ],
        latency=[laid.judged(tmp_path, said, "atom", experiment="hardware", set="test_5")],
        timings=[laid.lay(tmp_path, "timings", timings(), experiment="hardware", set="test_5")],
        timed_blocks=[laid.lay(tmp_path, "timed_blocks", blocks(), experiment="hardware", set="test_5")],
    )
    found = evaluate(given)
    key = {"metric": "cycles", "comparison": "ratio", "judge": "hardware"}
    assert laid.number(found.results, method="search", target="atom", **key) == (pytest.approx(np.sqrt(0.5)), 2)
    assert laid.number(found.results, method="gcc_again", target="none", **key)[0] == pytest.approx(np.sqrt(1.1))
    ranked = {"metric": "rank_correlation", "baseline": "hardware"}
    assert laid.number(found.results, judge="llvm_mca_atom", **ranked) == (pytest.approx(1), 1)
    assert laid.number(found.results, judge="itself", **ranked)[1] == 2
    assert found.outcomes[["set", "outcome", "blocks", "example", "processor"]].values.tolist() == [
        ["test_5", "timed", 2, "", "a chip"],
        ["test_5", "division fault", 1, "div ecx", "a chip"],
    ]
