"""The table says who stands before whom: complete methods first, pairs by their ratio, and what a reader must know."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from learned_schedulers.bench import comparison
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import SETS
from learned_schedulers.bench.results import SEEDS, Contestant, baseline_costs, not_for_leaderboard, paired, standing
from learned_schedulers.bench.running import Run

SET, TARGET, LIMIT = "adversarial_small", "pcie", Limit("evaluations", 1000)


def run_of(factors: list[float | np.ndarray], lacking: int = 0, evaluations: int = 1000) -> Run:
    """Costs are these multiples of the baseline's, one for each seed; the first instances have none."""
    costs = [(baseline_costs(SET, TARGET) * factor).tolist() for factor in factors]
    rows = [[None] * lacking + row[lacking:] for row in costs]
    counts = [[evaluations] * len(row) for row in rows]
    return Run(seeds=list(range(len(rows))), costs=rows, seconds=[[0.5] * len(row) for row in rows], evaluations=counts)


def line(name: str, run: Run) -> comparison.Line:
    return comparison.line(name, SET, TARGET, LIMIT, run, "target")


def test_who_lacks_schedules_is_ranked_behind_and_marked() -> None:
    lines = [line("lacks", run_of([0.5], lacking=3)), line("slow", run_of([1.2])), line("none", run_of([1.0], 20))]
    lines.append(line("lacks with a seed", run_of([0.4, float("nan")])))
    assert [each.name for each in comparison.ranked(lines)] == ["slow", "lacks with a seed", "lacks", "none"]
    text = comparison.table(lines)
    assert text.count("(incomplete)") == 3 and "lacks (incomplete)" in text and "slow (incomplete)" not in text
    assert "incomplete: no schedule of some instances" in comparison.notes(lines, [])
    assert "incomplete" not in comparison.notes(lines[1:2], [])


def test_pairs_have_narrow_intervals_where_costs_are_alike() -> None:
    """Both differ widely from the baseline, by the same factors: only their ratio tells them apart."""
    wide = np.random.default_rng(0).uniform(0.5, 2.0, len(baseline_costs(SET, TARGET)))
    peer, mine = run_of([wide]), run_of([0.9 * wide, 0.9 * wide])
    stands, pair = standing(SET, TARGET, mine), paired(SET, mine, peer)
    assert pair.value == pytest.approx(0.9) and pair.high - pair.low < 1e-9 < stands.high - stands.low
    first, second = comparison.beside([line("peer", peer)], line("mine", mine), SET)
    assert first.yours == pair and second.yours is None and second.highlighted
    assert "0.900 (0.900 to 0.900)" in comparison.table([first, second])


def test_seeds_are_paired() -> None:
    """Seed by seed the ratio is the same, although the seeds differ."""
    pair = paired(SET, run_of([0.8, 1.6]), run_of([1.0, 2.0]))
    assert pair.value == pytest.approx(0.8) and pair.high - pair.low < 1e-9


def test_a_pair_without_common_instances_is_no_number() -> None:
    lines = comparison.beside([line("peer", run_of([1.0], lacking=20))], line("mine", run_of([1.0])), SET)
    assert "nan" not in comparison.table(lines)


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
    ("of_set", "target", "seeds", "draws", "evaluations", "reason"),
    [
        ("development_real", "pcie", SEEDS, True, 1000, "development_real is for the choice of settings"),
        (SET, "bandwidth_0.3", SEEDS, True, 1000, "bandwidth_0.3 has another strength than the frozen one"),
        (SET, "pcie", 2, True, 1000, "2 seeds; a method that draws at random has 5"),
        (SET, "pcie", 1, False, 1001, "more than evaluations=1000 on 20 instances and seeds"),
        (SET, "pcie", 1, False, 1000, None),
        (SET, "pcie", SEEDS, True, 1000, None),
    ],
)
def test_why_a_result_is_not_for_the_leaderboard(
    of_set: str, target: str, seeds: int, draws: bool, evaluations: int, reason: str | None
) -> None:
    assert SETS[of_set].has(target)
    result = run_of([1.0] * seeds, evaluations=evaluations)
    contestant = Contestant("mine", "mine:Mine", {}, "target", draws, LIMIT, lambda: result)
    reasons = not_for_leaderboard(of_set, target, contestant, result)
    assert len(reasons) == (reason is not None) and (reason is None or reason in reasons[0])
