"""The page of computation graphs: its tables and figures are complete, and it says what is missing."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.figures import render
from pipeline.devices.page import comparison, reach
from pipeline.lab import published
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import label
from pipeline.lab.shared_tables import PARTS
from tests.report import made
from tests.report.made import PARAMS, results

METHODS = ["list_scheduling", "randomised_list", "annealing_on_target"]
SETTINGS = {
    "task": "devices", "sets": ["unseen_real", "unseen_synthetic"], "targets": ["proxy", "noisy"], "methods": METHODS,
    "seeds": [0],
}  # fmt: skip


def rows(experiment: str) -> list[dict[str, Any]]:
    place = {"experiment": experiment, "judge": "simulator", "dependencies": "none"}
    every = []
    for name, target, method, rule in product(SETTINGS["sets"], SETTINGS["targets"], METHODS, ("best", "spread")):
        of_method = place | {"set": name, "target": target, "method": method, "decoder": rule}
        if method == "list_scheduling" and rule == "spread":
            continue
        cost = 1.0 - 0.125 * METHODS.index(method)
        every.append(
            of_method | {"metric": "makespan", "comparison": "ratio", "baseline": "list_scheduling", "value": cost}
        )
        every.append(of_method | {"metric": "speedup", "value": 3.25 / cost})
        if target == "proxy":
            every += [of_method | {"metric": "makespan", "comparison": "ratio", "baseline": "best", "value": 1.5}]
            every += [of_method | {"metric": "diversity", "value": 0.25 * METHODS.index(method)}]
    return every


def part(**columns: Any) -> dict[str, Any]:
    plain = dict.fromkeys(published.columns(PARTS), "none") | {"rank": 0, "low": np.nan, "high": np.nan, "n": 1}
    return plain | {"confidence": np.nan, "seed": "all"} | columns


def evidence(experiment: str = "devices") -> Evidence:
    parts = [
        part(experiment=experiment, set="all", metric="strength", by="target", part="noisy", value=0.61625),
    ]
    parts += [
        part(experiment=experiment, set="unseen_real", target="proxy", method=method, metric="makespan",
             by="evaluations", part=str(count), rank=k, value=1 / count)
        for method in METHODS[1:] for k, count in enumerate((1, 3, 10))
    ]  # fmt: skip
    place: dict[str, Any] = {"experiment": experiment, "graph": "g"}
    bars = [
        place | {"rank": 0, "method": method, "place": k, "operation": i, "kind": "mm", "device": i % 2,
                 "begin": float(i), "end": i + 1.0, "bound": 2.0}
        for k, method in enumerate(METHODS[:2]) for i in range(4)
    ]  # fmt: skip
    curves = [
        place | {"rank": 0, "method": method, "place": k, "device": i % 2, "seconds": float(i), "bytes": 5.0 * i}
        for k, method in enumerate(METHODS[:2])
        for i in range(4)
    ]
    points = [
        place | {"method": "randomised_list", "kept_by": "best", "target": target, "proxy_speedup": 3 + k / 9,
                 "speedup": 2 + k / 9}
        for target in ("noisy", "bandwidth") for k in range(5)
    ]  # fmt: skip
    params = PARAMS | {
        "experiments": PARAMS["experiments"] | {experiment: SETTINGS},
        "graphs": {experiment: {"graph_sets": {"unseen_real": {"device": "v100", "devices": 4}}}},
    }
    tables = {"parts": parts, "gantts": bars, "memory_curves": curves, "kept_points": points}
    return Evidence(params, results(rows(experiment)), {name: pd.DataFrame(lines) for name, lines in tables.items()})


def page(evidence: Evidence) -> str:
    return made.page("devices", evidence)[0]


@pytest.mark.slow
def test_the_page_shows_every_table_and_figure() -> None:
    text = page(evidence())
    for text_shown in (
        "4 × v100", "0.616", "Randomised list", "0.8750", "BRKGA", "GFlowNet",
        "1.5000", "figures/devices_gantt_1.png", "figures/devices_anytime.png"
    ):  # fmt: skip
        assert text_shown in text, text_shown
    assert "few graphs and seeds" not in text
    drawn = comparison.section(evidence())["figures"]
    assert len(drawn) == 5 and all(render(draw())[:4] == b"\x89PNG" for draw in drawn.values())


def test_the_few_graphs_of_every_report_replace_unpublished_ones() -> None:
    text = page(evidence("devices_quick"))
    assert "few graphs and seeds" in text and "0.8750" in text


def test_the_page_says_what_is_missing() -> None:
    empty = Evidence(PARAMS, evidence().results[:0], {})
    assert comparison.section(empty) == {"to_list": {}}
    text = page(empty)
    assert "Not measured yet: `snakemake data/published/devices.done`" in text


@pytest.mark.parametrize("name", ["gflownet", "list_scheduling"])
def test_the_papers_figures_are_beside_ours(name: str) -> None:
    shown = comparison.section(evidence())["paper_targets"]
    line = next(cells for cells in shown.lines if cells[0] == label(name))
    assert line[2] == {"gflownet": "2.71", "list_scheduling": "2.74"}[name]
    assert line[1].startswith({"gflownet": "-", "list_scheduling": "3.25"}[name])


def test_excluded_optima_are_counted_and_completions_compared() -> None:
    place = {"experiment": "excluded_optimum", "set": "unseen_small", "method": "list_scheduling", "seed": "all"}
    proxy = place | {"target": "proxy", "low": np.nan, "high": np.nan}
    excluded = [
        proxy | {"metric": "excluded_share", "value": 0.125, "n": 8},
        proxy | {"metric": "decided", "value": 8.0, "n": 10},
    ]
    excluded += [
        place | {"target": link, "method": method, "metric": "gap", "baseline": "annealing", "value": 0.5, "n": 10}
        for link, method in product(("pcie", "nvlink"), ("list_scheduling", "insertion", "completion"))
    ]
    shown = reach.section(Evidence(PARAMS, results(excluded), {}))
    assert (shown["graphs"], shown["decided"], shown["excluded"], shown["share"]) == ("10", "8", "1", "12.5%")
    assert next(line[0] for line in shown["gaps"].lines) == label("list_scheduling")
    assert all(cell.startswith("50.0%") for line in shown["gaps"].lines for cell in line[1:])
    assert "`python -m benchmarks.excluded_optimum`" in page(evidence())
