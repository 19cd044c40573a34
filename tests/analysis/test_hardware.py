"""Orders timed on hardware, by hand: ratios, references that cannot win by noise, correlations, reasons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.blocks.processors.settings import Judge
from pipeline.corpus.tables import INSTRUCTIONS
from pipeline.hardware import numbers as hardware
from pipeline.hardware.numbers import evaluate
from pipeline.hardware.tables import TIMED_BLOCKS, TIMINGS
from pipeline.lab.config.intervals import Intervals
from pipeline.lab.inputs import Inputs
from pipeline.lab.rows import Row, results
from tests.analysis import laid

SETTINGS = Intervals(bootstrap_samples=100, confidence=0.95)
BOOTSTRAP = Inputs("hardware", SETTINGS).bootstrap
ORDERS = [(0, 1, 2), (0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1)]
PLACE = {"experiment": "hardware", "set": "test_5", "seed": "all"}


def timings() -> pd.DataFrame:
    """Two blocks; the first four orders are random, too, except the control. A method gives the last one."""
    rows = []
    for block, even, odd in (
        ("a", [10.0, 10.0, 8.0, 9.0, 5.0], [10.0, 10.0, 9.0, 8.0, 5.0]),
        ("b", [20.0, 22.0, 24.0, 26.0, 10.0], [20.0, 22.0, 24.0, 26.0, 10.0]),
    ):
        for number, order in enumerate(ORDERS):
            cycles = min(even[number], odd[number])
            rows.append((block, order, number == 1, number in (0, 2, 3), cycles, even[number], odd[number]))
    return pd.DataFrame(rows, columns=TIMINGS.schema.names)


def blocks() -> pd.DataFrame:
    now = pd.Timestamp("2026-11-22T19:00")
    rows = [(b, 3, "", "", 2, 17.0, 1.5, "a chip", now) for b in "ab"]
    rows += [("c", 4, "division fault", "div ecx", 0, 0.0, 0.0, "a chip", now)]
    return pd.DataFrame(rows, columns=TIMED_BLOCKS.schema.names)


def values(rows: list[Row], column: str) -> dict[str, float]:
    table = results(rows)
    return dict(zip(table[column], table["value"], strict=True))


def test_references() -> None:
    ratios = values(hardware.references(PLACE, {1: timings()}, BOOTSTRAP)[1::2], "method")
    assert ratios["gcc_again"] == pytest.approx(np.sqrt(1.1))
    assert ratios["random_orders"] == pytest.approx(np.exp((np.log(0.8) / 3 * 2 + np.log(1.2 * 1.3) / 3) / 2))
    # Of block a, the order with 8 cycles by even trials has 9 by the others; of b, GCC's own. No method's order.
    assert ratios["best_of_random_orders"] == pytest.approx(np.sqrt(0.9))


def test_quality() -> None:
    rows = hardware.quality(PLACE, {1: hardware.Series(timings(), blocks())}, BOOTSTRAP)
    ratios = values(rows, "metric")
    assert ratios["timed_share"] == pytest.approx(2 / 3)
    assert ratios["repeat_cv_median"] == 0 and ratios["fence_cycles_median"] == 17 and ratios["gcc_cycles_median"] == 16
    assert ratios["series"] == 1
    assert {row["judge"] for row in rows} == {"hardware", "hardware_series_1"}
    assert {row["unit"] for row in rows} == {"share", "1", "cycles", "count"}


def test_correlations_within_blocks() -> None:
    opposite = {
        (block, order): -cycles for block, order, cycles in timings()[["block_id", "order", "cycles"]].to_numpy()
    }
    ties = {("a", order): 1.0 for order in ORDERS} | {("b", o): float(n) for n, o in enumerate(ORDERS)}
    rows = hardware.correlations(PLACE, {1: timings()}, {"opposite": opposite, "ties": ties}, BOOTSTRAP)
    ranks = {row["judge"]: (row["value"], row["n"]) for row in rows if row["metric"] == "rank_correlation"}
    assert ranks["itself"] == (pytest.approx((0.5 + 1) / 2), 2)
    # The two orders of block a that take 8 cycles each are a tie in both.
    assert ranks["opposite"] == (pytest.approx(-1), 2)
    assert ranks["ties"] == (pytest.approx((0 + 1) / 2), 2), "a judge that tells nothing apart is right about nothing"
    ceiling = [row for row in rows if row["metric"] == "rank_correlation_ceiling"]
    assert [row["baseline"] for row in ceiling] == ["hardware_series_1", "hardware"]
    assert ceiling[-1]["value"] == pytest.approx(np.sqrt(2 * 0.75 / 1.75))


def test_correlations_are_of_the_same_blocks() -> None:
    """A block that one judge does not know counts for no judge."""
    of_a = {("a", order): float(number) for number, order in enumerate(ORDERS)}
    rows = hardware.correlations(PLACE, {1: timings()}, {"of_a": of_a}, BOOTSTRAP)
    assert {row["n"] for row in rows} == {1}
    assert hardware.correlations(PLACE, {1: timings()}, {"nothing": {}}, BOOTSTRAP) == []


def test_several_series() -> None:
    """Blocks that all series have timed; the second series has the cycles of block b reversed."""
    second = timings()
    columns = ["cycles", "even_cycles", "odd_cycles"]
    of_b = second["block_id"] == "b"
    second.loc[of_b, columns] = 40.0 - second.loc[of_b, columns]
    series = {1: timings(), 2: second}
    rows = hardware.correlations(PLACE, series, {}, BOOTSTRAP)
    of = {(row["metric"], row["judge"], row["baseline"]): row for row in rows}
    assert of["rank_correlation", "another_series", "hardware"]["value"] == pytest.approx((1 - 1) / 2)
    assert of["rank_correlation", "itself", "hardware"]["interval_of"] == "blocks and series"
    again = {row["judge"]: row for row in hardware.references(PLACE, series, BOOTSTRAP) if row["method"] == "gcc_again"}
    assert set(again) == {"hardware_series_1", "hardware_series_2", "hardware"}
    assert np.log(again["hardware"]["value"]) == pytest.approx(
        (np.log(again["hardware_series_1"]["value"]) + np.log(again["hardware_series_2"]["value"])) / 2
    )
    lost = blocks().assign(reason=["", "timed out", "division fault"])
    both = {1: hardware.Series(timings(), blocks()), 2: hardware.Series(second, lost)}
    assert list(hardware.timed_in_all(both).index) == ["a"]
    ends = hardware.outcomes("test_5", both).set_index("outcome")["blocks"]
    assert ends.to_dict() == {"timed": 1, "timed out": 1, "division fault": 1}


def test_the_ceiling_is_what_a_perfect_judge_reaches() -> None:
    """The judge knows the true cycles; each half of the trials has noise of the same size."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200_000)
    halves = truth + rng.normal(size=(2, len(truth)))
    between = np.corrcoef(*halves)[0, 1]
    assert hardware.of_halves(between) == pytest.approx(np.corrcoef(truth, halves.mean(0))[0, 1], abs=0.01)
    assert hardware.of_series(between) == pytest.approx(np.corrcoef(truth, halves[0])[0, 1], abs=0.01)
    for opposed in (-0.2, -1.0):
        assert hardware.of_halves(np.array(opposed)) == 0
    assert hardware.of_halves(np.mean([-1.0])) == 0  # two halves that order a single block the other way round


def test_series_of_two_processors_are_never_mixed(tmp_path: Path) -> None:
    inputs = Inputs(
        "hardware",
        SETTINGS,
        timings=[laid.lay(tmp_path, "timings", timings(), experiment="hardware", set="test_5", series=n) for n in "12"],
        timed_blocks=[
            laid.lay(
                tmp_path,
                "timed_blocks",
                blocks().assign(processor=chip),
                experiment="hardware",
                set="test_5",
                series=number,
            )
            for number, chip in (("1", "a chip"), ("2", "another"))
        ],
    )
    with pytest.raises(ValueError, match="series of test_5 were timed on a chip and on another"):
        evaluate(inputs)


def test_the_task(tmp_path: Path) -> None:
    """Without fast models; llvm-mca ranks the orders of one block like hardware, and knows no other block."""
    cycles_of = {("a", order): cycles for order, cycles in zip(ORDERS, [3.0, 3.0, 1.0, 1.0, 1.0], strict=True)}
    orders: dict[str, laid.Order | str] = {"a": (2, 0, 1), "b": (0, 1, 2), "c": "unsupported: div"}
    numbers = pd.DataFrame({"block_id": ["a", "b"], "encodings": [[0, 1, 2]] * 2})
    empty = INSTRUCTIONS.schema.empty_table().to_pandas()
    inputs = Inputs(
        "hardware",
        SETTINGS,
        {"atom": Judge(cpu="atom", iterations=1)},
        instructions=[laid.lay(tmp_path, "instructions", pd.concat([empty, numbers]), corpus="released")],
        schedules=[
            laid.schedules(tmp_path, orders, "search", experiment="hardware", set="test_5", target="atom"),
            laid.schedules(tmp_path, {}, "search", experiment="hardware", set="test_10_40", target="atom"),
        ],
        latency=[laid.judged(tmp_path, cycles_of, "atom", experiment="hardware", set="test_5")],
        timings=[laid.lay(tmp_path, "timings", timings(), experiment="hardware", set="test_5", series="1")],
        timed_blocks=[laid.lay(tmp_path, "timed_blocks", blocks(), experiment="hardware", set="test_5", series="1")],
    )
    ratios = evaluate(inputs)
    key = {"metric": "cycles", "comparison": "ratio", "judge": "hardware"}
    assert laid.number(ratios.results, method="search", target="atom", **key) == (pytest.approx(np.sqrt(0.5)), 2)
    assert laid.number(ratios.results, method="gcc_again", target="none", **key)[0] == pytest.approx(np.sqrt(1.1))
    ranked = {"metric": "rank_correlation", "baseline": "hardware"}
    assert laid.number(ratios.results, judge="llvm_mca_atom", **ranked) == (pytest.approx(1), 1)
    assert laid.number(ratios.results, judge="itself", **ranked) == (pytest.approx(0.5), 1)
    assert ratios.outcomes[["set", "outcome", "blocks", "example", "processor"]].values.tolist() == [
        ["test_5", "timed", 2, "", "a chip"],
        ["test_5", "division fault", 1, "div ecx", "a chip"],
    ]
