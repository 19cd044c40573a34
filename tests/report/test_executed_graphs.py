"""The section of executed schedules shows its tables and its figure, and says what is missing."""

from __future__ import annotations

from typing import Any

import pandas as pd

from learned_schedulers.figures import render
from pipeline.execution.page import machine
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.templates import template
from tests.report.made import PARAMS, results

TARGETS = ["proxy", "bandwidth"]


def evidence() -> Evidence:
    place = {"experiment": "this_machine", "set": "executed_real", "dependencies": "none"}
    rows: list[dict[str, Any]] = [
        place | {"target": target, "metric": "rank_correlation", "value": value, "n": 7}
        for target, value in (("this_machine", 0.875), ("bandwidth", 0.75), ("proxy", 0.25))
    ]
    measured = place | {"target": "this_machine", "judge": "this_machine"}
    rows += [
        measured | {"metric": "makespan", "method": method, "comparison": "ratio", "baseline": baseline, "value": value}
        for method, baseline, value in (
            ("brkga", "list_scheduling", 0.9375),
            ("brkga", "one_device", 0.5625),
            ("list_scheduling", "list_scheduling", 1.0),
        )
    ]
    rows.append(measured | {"metric": "flops_per_second", "value": 3e10, "low": 2.5e10, "high": 3.5e10, "seed": "none"})
    points = [
        {"experiment": "this_machine", "graph": "g", "method": method, "target": target,
         "simulated_speedup": 1 + k / 9, "speedup": 1 + k / 10}
        for method in ("brkga", "list_scheduling") for target in TARGETS for k in range(3)
    ]  # fmt: skip
    settings = {"task": "execution", "targets": TARGETS, "methods": ["list_scheduling", "brkga"]}
    params = PARAMS | {"experiments": PARAMS["experiments"] | {"this_machine": settings}}
    return Evidence(params, results(rows), {"executed_points": pd.DataFrame(points)})


def text(evidence: Evidence) -> str:
    return template("execution/page/machine.md.j2").render(machine=machine.section(evidence))


def test_targets_methods_and_rates_are_shown() -> None:
    shown = text(evidence())
    for text_shown in (
        "| proxy | 0.25 <small>", "| the same schedules in other processes | 0.88 <small>", "| BRKGA | 0.9375 <small>",
        "<small>[0.5525 to", "| GFLOP/s of a matrix product | 30.0 <small>[25.0 to 35.0]</small> |",
        "figures/devices_executed.png",
    ):  # fmt: skip
        assert text_shown in shown, text_shown
    assert shown.index("| proxy") < shown.index("| bandwidth") < shown.index("| the same schedules")
    assert render(machine.section(evidence())["figures"]["devices_executed"]())[:4] == b"\x89PNG"


def test_a_missing_execution_is_said() -> None:
    empty = Evidence(PARAMS, evidence().results[:0], {})
    assert "Not measured yet: `snakemake data/published/this_machine.done`" in text(empty)
