"""Sections of the page on instances of others that show what saga_peers and mutated_instances publish."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from benchmarks.mutated_instances.__main__ import rows_of
from benchmarks.mutated_instances.outcomes import FORMS, READ, WITH_LINE, WRONG
from benchmarks.saga_peers.__main__ import adversarial_rows
from learned_schedulers.figures import render
from pipeline.lab import claims, rows
from pipeline.outside.page import mutated, saga
from tests.report import made


def test_damaged_files_are_counted_by_form() -> None:
    counts = Counter({(form, READ): 100 for form in FORMS} | {("stg", WITH_LINE): 1000, ("saga", WRONG): 2})
    results = rows.results(rows_of(counts))
    shown = mutated.section(made.evidence(results, claims=claims.table(results, claims.declared())))
    assert [line[1:] for line in shown["questions"].lines] == [["≥ 5,000", "1,702", "**no**"], ["= 0", "2", "**no**"]]
    assert shown["counts"].lines[3] == ["Standard Task Graph Set", "1,100", "100", "1,000", "0", "0", "0"]
    assert shown["counts"].lines[-1] == ["all", "1,702", "700", "1,000", "0", "0", "2"]
    text, _ = made.page("outside", made.evidence(results))
    assert "| SAGA, JSON | 102 | 100 | 0 | 0 | 0 | 2 |" in text


def test_sagas_schedulers_stand_beside_ours() -> None:
    place = {"experiment": "saga_peers", "judge": "simulator", "comparison": "ratio", "unit": "ratio"}
    of_results, of_parts = adversarial_rows(RATIOS, ("heft", "go", "saga_heft", "saga_olb"))
    results = pd.concat(
        [
            made.results(
                [
                    place
                    | {"set": name, "target": target, "method": method, "metric": "makespan", "value": ratio}
                    | {"baseline": "list_scheduling"}
                    for name, targets in (("unseen_small", ("latency",)), ("unseen_real", ("pcie", "latency")))
                    for target in targets
                    for method, ratio in (("saga_etf", 0.8), ("heft", 0.7))
                ]
            ),
            made.results(
                [
                    {
                        "experiment": "saga_peers",
                        "set": "all",
                        "target": target,
                        "method": "saga_heft",
                        "baseline": "heft",
                    }
                    | {"metric": metric, "value": number, "unit": "count", "n": 200}
                    for target, shift in (("pcie", 0.0), ("all", 1.0))
                    for metric, number in (
                        ("makespans_differ", 70 + shift),
                        ("makespans_differ_with_one_mean", 8 + shift),
                    )
                ]
            ),
            rows.results(of_results),
        ]
    )
    evidence = made.evidence(results, parts=rows.parts(of_parts).assign(experiment="saga_peers"))
    shown = saga.section(evidence)
    assert shown["equality"].lines == [["pcie", "200", "70", "8", "-"], ["all", "200", "71", "9", "-"]]
    assert list(shown["to_list"]) == [
        "unseen real graphs, 25 to 1,000 operations",
        "unseen graphs of up to 50 operations",
    ]
    to_list = next(iter(shown["to_list"].values()))
    assert to_list.head == ["Method", "latency", "pcie"]
    assert [line[0] for line in to_list.lines] == ["HEFT", "SAGA, ETF"]
    worst = {line[0]: line[2:] for line in shown["worst"].lines}
    assert worst["GO"] == ["2.00", "1.73", "2.00"] and worst["SAGA, OLB"] == ["3.00", "-", "-"]
    assert render(shown["figures"]["outside_worst_graphs"]())[:4] == b"\x89PNG"
    text, figures = made.page("outside", evidence)
    assert figures == {"outside_worst_graphs"} and "gave the 4 graphs of the frozen set" in text


RATIOS = pd.DataFrame(  # makespan over the optimum
    {
        "searched_for": ["heft", "heft", "go", "go"],
        "heft": [1.5, 1.6, 1.0, 1.1],
        "go": [1.0, 1.0, 1.5, 2.0],
        "saga_heft": [1.5, 1.6, 1.0, 1.1],
        "saga_olb": [3.0, 2.0, 3.0, 2.0],
    },
    index=["heft_0", "heft_1", "go_0", "go_1"],
)
