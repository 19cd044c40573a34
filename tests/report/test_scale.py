"""The page on scale, from made-up costs; its claims find the rows that the benchmark writes."""

from __future__ import annotations

import pandas as pd

from pipeline.lab import claims
from pipeline.scale.page import curve, plan
from tests.report import made, scale

RESULTS = pd.concat([scale.of_blocks(), scale.of_graphs()])
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


def test_the_plan_multiplies_the_largest_corpus() -> None:
    shown = plan.section(EVIDENCE)
    ingest, _, dags, snakemake, everything = shown["blocks"].lines
    assert ingest[:4] == ["`ingest`", "400", "2.2", "0.0"] and ingest[4:6] == ["0.06", "0.07"]
    assert dags[:4] == ["`dags`", "1", "1.9", "0.3"] and dags[-3] == dags[-1]  # a single job has one node
    assert everything[0] == "**all**" and snakemake[:4] == ["`snakemake`", "1", "0.0", "0.0"]
    assert shown["needs"]["shuffled"] == "0.07" and shown["needs"]["node_gigabytes"] == "38"
    (graphs,) = shown["graphs"].lines
    assert graphs[:5] == ["10,064", "100.0", "27,778", "70", "0.10"]


def test_nothing_is_shown_of_what_was_not_measured() -> None:
    assert not curve.section(NOTHING)["sizes"] and not plan.section(NOTHING)["blocks"]
    assert not plan.section(NOTHING)["graphs"] and not curve.section(NOTHING)["figures"]
