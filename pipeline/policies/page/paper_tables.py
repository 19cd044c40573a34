"""Tables 1, 2 and 3 of the paper with our numbers: speedups on every target, and diversity of the kept schedules.

pipeline/lab/paper_devices.py has the paper's numbers.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.lab import paper_devices as paper
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, METHOD, PROXY, REAL, SYNTHETIC, of_set, two_digits
from pipeline.lab.page.numbers import count, percent, ratio
from pipeline.lab.page.tables import Cell, Column, Line, Table, lines, metric, table, value
from pipeline.policies.page.shared import (
    DIVERSITY,
    KEPT,
    ONE_GRAPH,
    UNSEEN,
    methods,
    of_paper,
    sets,
    speedup,
    targets,
    with_extensions,
)

THIS_MACHINE = "this_machine"  # an experiment, its judge and its target


@with_extensions
def section(evidence: Evidence) -> dict[str, Any]:
    """The three tables by name; they are empty if an experiment was not published."""
    (graph_set,) = sets(evidence, ONE_GRAPH)[:1] or [""]
    first, real = of_set(evidence, ONE_GRAPH, graph_set), of_set(evidence, UNSEEN, REAL)
    synthetic, order = of_set(evidence, UNSEEN, SYNTHETIC), methods(evidence)
    return {
        "seeds": len(evidence.settings(UNSEEN).get("seeds", ())),
        "table_1": on_targets(first, paper.TABLE_1, order),
        "diversity_1": _diversity(first, order, paper.DIVERSITY_1),
        "table_2": on_proxy(synthetic, order),
        "targets_2": on_targets(synthetic, {}, order),
        "table_3": on_targets(real, paper.TABLE_3, order, evidence.of(THIS_MACHINE)),
        "diversity_3": _diversity(real, order, {}),
    }


def _lines(rows: pd.DataFrame, order: list[str]) -> list[Line]:
    return lines(rows, ["method"], {"method": order}, {"metric": "speedup", **KEPT})


def on_targets(
    rows: pd.DataFrame, numbers: dict[str, dict[str, float]], order: list[str], executed: pd.DataFrame | None = None
) -> Table:
    """Our speedups and the paper's.

    executed: rows of schedules that two cores executed; they have a column if a GFlowNet is among them.
    """
    shown: list[Column] = [METHOD]
    for target in targets(rows[rows["metric"] == "speedup"]):
        shown.append((target, speedup(target)))
        if any(target in of_method for of_method in numbers.values()):
            speedups = {method: of_method[target] for method, of_method in numbers.items()}
            shown.append((f"{target}, paper", _paper(speedups)))
    every = _lines(rows, order)
    if executed is not None and executed["method"].str.startswith("gflownet").any():
        every = [Line(line.place, [*line.rows, *_of_method(executed, line["method"])]) for line in every]
        measured = {"target": THIS_MACHINE, "judge": THIS_MACHINE, "comparison": "ratio", "baseline": LIST}
        shown.append(("two cores: makespan over list scheduling's", metric(ratio, "makespan", **measured)))
    shown.append(("Graphs", value(count, "speedup", "n", **KEPT)))
    return table(shown, every, right=1)


def _of_method(rows: pd.DataFrame, method: str) -> list[dict[Any, Any]]:
    return rows[rows["method"] == method].to_dict("records")


def _paper(numbers: dict[str, float]) -> Cell:
    return lambda line: of_paper(numbers, line["method"])


def _paper_share(numbers: dict[str, float]) -> Cell:
    return lambda line: percent(numbers[line["method"]]) if line["method"] in numbers else "-"


def _diversity(rows: pd.DataFrame, order: list[str], numbers: dict[str, float]) -> Table:
    """Mean distances between the kept schedules, by three measures."""
    on_proxy = rows[rows["target"] == PROXY]
    chains, *starts = DIVERSITY
    papers: list[Column] = [(f"{chains[0]}, paper", _paper_share(numbers))] if numbers else []
    every = lines(on_proxy, ["method"], {"method": order}, {"metric": "diversity", **KEPT})
    return table([METHOD, chains, *papers, *starts], every, right=1)


def on_proxy(rows: pd.DataFrame, order: list[str]) -> Table:
    """Best and mean speedup of the kept schedules on the proxy, and their diversity."""
    of_proxy = rows[rows["target"] == PROXY]
    best, mean, distance = ({name: entry[k] for name, entry in paper.TABLE_2.items()} for k in range(3))
    chains, *starts = DIVERSITY
    shown: list[Column] = [
        METHOD,
        ("Best", speedup(PROXY)),
        ("Best, paper", _paper(best)),
        ("Mean of the kept", metric(two_digits, "kept_speedup", **KEPT)),
        ("Mean, paper", _paper(mean)),
        chains,
        (f"{chains[0]}, paper", _paper_share(distance)),
        *starts,
        ("Graphs", value(count, "speedup", "n", **KEPT)),
    ]
    return table(shown, _lines(of_proxy, order), right=1)
