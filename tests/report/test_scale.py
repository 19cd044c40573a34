"""The page on scale, from made-up costs; its claims find the rows that the benchmark writes."""

from __future__ import annotations

from pipeline.lab import claims
from pipeline.scale.page import curve
from tests.report import made, scale

RESULTS = scale.of_blocks()
EVIDENCE = made.evidence(
    RESULTS,
    scale_sizes=scale.sizes(),
    scale_rules=scale.rules(),
    claims=claims.table(RESULTS, claims.declared()),
)
NOTHING = made.evidence(RESULTS.iloc[:0])


def test_the_claims_are_answered() -> None:
    questions = curve.section(EVIDENCE)["questions"]
    assert [line[1] for line in questions.lines] == ["≤ 2.50", "≤ 1.05"]
    assert [line[-1] for line in questions.lines] == ["**yes**", "**yes**"]


def test_costs_are_shown_per_block() -> None:
    shown = curve.section(EVIDENCE)
    assert shown["sizes"].lines[0] == ["1,000,000", "7,000,000", "2 and 2", "30", "20", "20.0", "-", "1.20"]
    assert shown["sizes"].lines[1][-2] == "0.95"  # log(25) / log(30)
    assert shown["rules"].lines[0] == ["`ingest`", "12", "270", "240", "8.0", "0.60", "70.0"]
    assert [line[0] for line in shown["rules"].lines] == ["`ingest`", "`deduplicate`", "`dags`"]
    assert list(shown["figures"]) == ["scale_blocks"]


def test_costs_of_a_billion_blocks_are_in_proportion() -> None:
    planned = curve.section(EVIDENCE)["planned"]
    assert planned == {"blocks": "1,000,000,000", "hours": "4.6", "serial": "0.3", "written": "0.19"}


def test_nothing_is_shown_of_what_was_not_measured() -> None:
    shown = curve.section(NOTHING)
    assert not shown["sizes"] and not shown["planned"] and not shown["figures"]
