"""The page on instances of others, from made-up gaps; its claims find the rows that the benchmark writes."""

from __future__ import annotations

from learned_schedulers.figures import render
from pipeline.lab import claims
from pipeline.outside.page import gaps
from tests.report import made

PLACE = {"experiment": "outside_instances", "unit": "share", "baseline": "best_known"}
METHODS = {"shortest_first": 0.27, "cp_sat": 0.02, "another": 0.1}
RESULTS = made.results(
    [
        *(
            PLACE | {"set": name, "method": method, "metric": metric, "value": gap, "n": 80}
            for name in ("taillard", "psplib_j30")
            for method, gap in METHODS.items()
            for metric in ("gap", "best_known_share", "proven_optimal_share")
        ),
        *(
            {"experiment": "outside_instances", "set": "all", "unit": "count", "metric": metric, "value": number}
            | {"low": float("nan"), "high": float("nan")}
            for metric, number in (("instances", 306.0), ("better_than_proven", 0.0), ("bound_above_best", 1.0))
        ),
    ]
)
EVIDENCE = made.evidence(RESULTS, claims=claims.table(RESULTS, claims.declared()))


def test_the_claims_are_answered() -> None:
    questions = gaps.section(EVIDENCE)["questions"]
    assert [line[1:] for line in questions.lines] == [
        ["≥ 250", "306", "**yes**"], ["= 0", "0", "**yes**"], ["= 0", "1", "**no**"],
    ]  # fmt: skip


def test_gaps_are_shown_by_set_and_method() -> None:
    shown = gaps.section(EVIDENCE)
    assert [line[:3] for line in shown["gaps"].lines] == [
        [name, method, "80"]
        for name in ("PSPLIB, 30 activities", "Taillard's job-shops")
        for method in ("Shortest processing time", "CP-SAT", "another")
    ]
    assert shown["gaps"].lines[0][3].startswith("27.0% <small>[26.0")
    assert render(shown["figures"]["outside_gaps"]())[:4] == b"\x89PNG"
    text, figures = made.page("outside", EVIDENCE)
    assert figures == {"outside_gaps"} and "figures/outside_gaps.png" in text


def test_nothing_is_shown_of_what_was_not_measured() -> None:
    text, figures = made.page("outside", made.evidence())
    assert not figures
    assert "Not measured yet: `python -m benchmarks.outside_instances FOLDER`" in text
    for name in ("saga_peers", "mutated_instances"):
        assert f"`git restore reports/published/{name}`" in text
