"""Claims are read off intervals: yes, no, undecided, not measured."""

import pandas as pd
import pytest

from pipeline.analysis import paper
from pipeline.analysis.claims import Claim, check, on_par, sign
from tests.analysis import synthetic


@pytest.mark.parametrize(
    ("low", "high", "wanted", "answer"),
    [
        (0.1, 0.2, 1, "yes"),
        (0.1, 0.2, -1, "no"),
        (-0.2, -0.1, -1, "yes"),
        (-0.2, -0.1, 1, "no"),
        (-0.1, 0.1, 1, "undecided"),
        (0.0, 0.2, 1, "undecided"),
        (float("nan"), 0.2, 1, "not measured"),
    ],
)
def test_sign(low: float, high: float, wanted: int, answer: str) -> None:
    assert sign(low, high, wanted) == answer


@pytest.mark.parametrize(
    ("low", "high", "answer"), [(-0.5, 0.05, "yes"), (0.2, 0.3, "no"), (0.05, 0.2, "undecided"), (-9, -8, "yes")]
)
def test_on_par_has_a_margin(low: float, high: float, answer: str) -> None:
    assert on_par(low, high, 0.1) == answer


def aggregate(**changes: float) -> pd.DataFrame:
    """Synthetic results, seed `all`; `changes`: metric -> shift of every value and interval."""
    rows = synthetic.results()
    rows = rows[rows["seed"] == "all"].copy()
    for metric, shift in changes.items():
        rows.loc[rows["metric"] == metric, ["value", "ci_low", "ci_high"]] += shift
    return rows


def answer(claims: list[Claim], metric: str) -> str:
    return next(claim.answer for claim in claims if claim.metric == metric and claim.headline)


def test_answers_follow_the_table() -> None:
    claims = check(aggregate())
    assert answer(claims, "exact_match_minus_sinkhorn") == "yes"
    assert answer(claims, "kendall_tau_distance_minus_sinkhorn") == "undecided"
    assert answer(claims, "violations_per_block_minus_sinkhorn") == "yes"
    assert answer(claims, "valid_share") == "yes"
    worse = check(aggregate(exact_match_minus_sinkhorn=-0.1, violations_per_block_minus_sinkhorn=0.1))
    assert answer(worse, "exact_match_minus_sinkhorn") == "no"
    assert answer(worse, "violations_per_block_minus_sinkhorn") == "no"


def test_one_invalid_schedule_is_not_valid_by_construction() -> None:
    rows = aggregate()
    one = rows[(rows["decoder"] == "topological") & (rows["metric"] == "valid_share")].index[0]
    rows.loc[one, "value"] = 1 - 1 / 8579
    assert answer(check(rows), "valid_share") == "no"


def test_without_rows_nothing_is_claimed() -> None:
    claims = check(aggregate().iloc[:0])
    assert {claim.answer for claim in claims} == {"not measured"}
    without_latency = check(synthetic.results(latency=False).query("seed == 'all'"))
    assert answer(without_latency, f"{synthetic.HASWELL}_minus_gcc") == "not measured"
    assert answer(without_latency, "exact_match_minus_sinkhorn") == "yes"


def test_the_papers_differences_stand_beside() -> None:
    accuracy = next(claim for claim in check(aggregate()) if claim.metric == "exact_match_minus_sinkhorn")
    assert accuracy.paper == pytest.approx(0.041)
    assert pytest.approx(0.0029, abs=1e-4) == paper.ON_PAR_SHARE
