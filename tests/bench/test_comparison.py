"""The table says who stands before whom: complete methods first, pairs by their ratio, and what a reader must know."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from learned_schedulers.bench import comparison
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import SETS, instances
from learned_schedulers.bench.results import SEEDS, baseline_costs, hand_in, not_for_leaderboard, paired, standing
from learned_schedulers.bench.running import Run
from learned_schedulers.bench.tasks import Introduction

SET, TARGET, LIMIT = "adversarial_small", "pcie", Limit("evaluations", 1000)


def run_of(factors: list[float | np.ndarray], lacking: int = 0, evaluations: int = 1000) -> Run:
    """Costs are these multiples of the baseline's, one for each seed; the first instances have none."""
    costs = [(baseline_costs(SET, TARGET) * factor).tolist() for factor in factors]
    rows = [[None] * lacking + row[lacking:] for row in costs]
    counts = [[evaluations] * len(row) for row in rows]
    seconds, schedules = [[0.5] * len(row) for row in rows], [[None] * len(row) for row in rows]
    return Run(seeds=list(range(len(rows))), costs=rows, schedules=schedules, seconds=seconds, evaluations=counts)


def line(name: str, run: Run) -> comparison.Line:
    return comparison.line(name, SET, TARGET, LIMIT, run, "target")


def test_an_instance_without_a_schedule_counts_as_on_one_device() -> None:
    """So a method that fails everywhere stands where one device stands, and one that fails on some nearer to it."""
    alone = np.array([instance.alone(TARGET) for instance in instances(SET)]) / baseline_costs(SET, TARGET)
    lines = [line("lacks", run_of([0.5], lacking=3)), line("slow", run_of([1.2])), line("none", run_of([1.0], 20))]
    lines.append(line("one device", run_of([alone])))
    values = {each.name: each.stands.value for each in lines}
    assert values["none"] == pytest.approx(values["one device"]) and 0.5 < values["lacks"] < values["none"]
    assert comparison.ranked(lines)[0].name == "lacks" and "17 of 20" in comparison.table(lines)
    assert "counts as all its operations on one device" in comparison.notes(lines, [])
    assert comparison.notes(lines[1:2], []) == ""


def test_pairs_have_narrow_intervals_where_costs_are_alike() -> None:
    """Both differ widely from the baseline, by the same factors: only their ratio tells them apart."""
    wide = np.random.default_rng(0).uniform(0.5, 2.0, len(baseline_costs(SET, TARGET)))
    peer, mine = run_of([wide]), run_of([0.9 * wide, 0.9 * wide])
    stands, pair = standing(SET, TARGET, mine), paired(SET, TARGET, mine, peer)
    assert pair.value == pytest.approx(0.9) and pair.high - pair.low < 1e-9 < stands.high - stands.low
    first, second = comparison.beside([line("peer", peer)], line("mine", mine), SET, TARGET)
    assert first.yours == pair and second.yours is None and second.highlighted
    assert "0.900 (0.900 to 0.900)" in comparison.table([first, second])


def test_seeds_are_paired() -> None:
    """Seed by seed the ratio is the same, although the seeds differ."""
    pair = paired(SET, TARGET, run_of([0.8, 1.6]), run_of([1.0, 2.0]))
    assert pair.value == pytest.approx(0.8) and pair.high - pair.low < 1e-9


def test_the_table_says_who_sees_the_target_and_the_notes_what_was_left_out() -> None:
    blind = comparison.line("blind", SET, TARGET, LIMIT, run_of([1.0]), "proxy")
    rows = comparison.table([blind, line("sighted", run_of([1.1]))]).splitlines()
    assert rows[0].split()[1] == "sees" and [row.split()[1] for row in rows[2:]] == ["proxy", "target"]
    earlier = blind._replace(earlier=datetime.date(2026, 11, 20))
    notes = comparison.notes([earlier], ["blind", "go", "gflownet"])
    assert (
        "not run (--peers all): go, gflownet" in notes
        and "earlier on this machine (--cache): blind on 2026-11-20" in notes
    )
    assert comparison.notes([blind], ["blind"]) == ""


@pytest.mark.parametrize(
    ("of_set", "target", "seeds", "draws", "evaluations", "differing", "reason"),
    [
        ("development_real", "pcie", SEEDS, True, 1000, [], "development_real is for the choice of settings"),
        (SET, "bandwidth_0.3", SEEDS, True, 1000, [], "bandwidth_0.3 has another strength than the frozen one"),
        (SET, "pcie", 2, True, 1000, [], "2 seeds; a method that draws at random has 5"),
        (SET, "pcie", 1, False, 1001, [], "more than evaluations=1000 on 20 instances and seeds"),
        (SET, "pcie", SEEDS, True, 1000, ["0"], "a second run with the same seed differs on 1 instances"),
        (SET, "pcie", 1, False, 1000, [], None),
        (SET, "pcie", SEEDS, True, 1000, [], None),
    ],
)
def test_why_a_result_is_not_for_the_leaderboard(
    of_set: str, target: str, seeds: int, draws: bool, evaluations: int, differing: list[str], reason: str | None
) -> None:
    assert SETS[of_set].has(target)
    result = run_of([1.0] * seeds, evaluations=evaluations)
    method = Introduction(name="mine", needs=frozenset({"target"}), draws=draws)
    reasons = not_for_leaderboard(hand_in(of_set, target, method, LIMIT, result, differing))
    assert len(reasons) == (reason is not None) and (reason is None or reason in reasons[0])
