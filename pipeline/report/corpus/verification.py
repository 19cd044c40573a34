"""What running the code says of the dependencies: from what the experiment `dag_verification` published."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.blocks.dag.corrections import CORRECTIONS
from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, mode
from pipeline.report.numbers import cell, code, count, percent
from pipeline.report.tables import Column, Line, Table, lines, of, records, table, value

EXPERIMENT = "dag_verification"
CONTROL = "paper"  # leaves flags out: running the code must show that
_KINDS = 12  # kinds of edges shown for each mode, the most frequent ones


def runnable(line: Line) -> str:
    """Share of the blocks that can be run."""
    return _share(line["runnable"], line["blocks"])


SUMMARY: list[Column] = [
    ("Dependencies", of("dependencies", lambda name: mode(name) + " (control)" * (name == CONTROL))),
    ("Blocks from", of("set", cell)),
    ("Blocks", value(count, "blocks")),
    ("Runnable", value(percent, "runnable_share")),
    ("Orders tried", value(count, "orders")),
    ("State-runs", value(count, "state_runs")),
    ("Different", value(count, "different")),
    ("Swaps detected", value(lambda share: percent(share, 2), "sensitivity_raw")),
    ("after classification", value(lambda share: percent(share, 2), "sensitivity")),
]
STRATA: list[Column] = [
    ("Dependencies", of("dependencies", mode)),
    ("By", of("by", cell)),
    ("Stratum", of("name", cell)),
    ("Blocks", of("blocks", count)),
    ("Runnable", runnable),
    ("Orders tried", of("orders", count)),
    ("State-runs", of("state_runs", count)),
    ("Different", of("different", count)),
]
REASONS: list[Column] = [
    ("Dependencies", of("dependencies", mode)),
    ("Reason", of("reason", cell)),
    ("Blocks", of("blocks", count)),
    ("For example", of("example", code)),
]
EXPLANATIONS: list[Column] = [
    ("Dependencies", of("dependencies", mode)),
    ("Outcome", of("outcome", cell)),
    ("Explanation", of("explanation", cell)),
    ("Swaps", of("swaps", count)),
    ("For example", of("example", code)),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; without lines where the code was not run."""
    rows = evidence.of(EXPERIMENT)
    order = {"dependencies": _order(rows["dependencies"]), "set": ["all"]}
    return {
        "summary": table(SUMMARY, lines(rows, ["dependencies", "set"], order), right=2),
        "strata": table(STRATA, records(evidence.table("strata")), right=3),
        "reasons": table(REASONS, records(evidence.table("reasons"))),
        "sensitivity": _sensitivity(evidence.table("swap_outcomes")),
        "explanations": table(EXPLANATIONS, records(evidence.table("explanations"))),
        "corrections": Table(["Correction", "Reason"], [[cell(one.name), cell(one.reason)] for one in CORRECTIONS]),
    }


def _order(modes: pd.Series) -> list[str]:
    """The control last, behind all others."""
    return [*in_order(set(modes) - {CONTROL}, ["full"]), CONTROL]


def _share(part: float, whole: float) -> str:
    return percent(part / whole) if whole else "-"


def _sensitivity(swaps: pd.DataFrame) -> Table:
    """Swaps of each kind of edge, then of each outcome its number and share; the rare kinds are left out."""
    if swaps.empty:
        return Table()
    last = {"changed": 0, "unexplained": 2}
    outcomes = sorted(set(swaps["outcome"]), key=lambda name: (last.get(name, 1), name))
    wide = swaps.pivot_table(
        index=["dependencies", "kind"], columns="outcome", values="swaps", aggfunc="sum", fill_value=0
    )
    wide = wide.assign(swaps=wide.sum(axis=1), first=wide.index.get_level_values("kind") != "all").reset_index()
    wide = wide.sort_values(["first", "swaps", "kind"], ascending=[True, False, True])

    def part(name: str) -> Column:
        def write(line: Line) -> str:
            return f"{count(line[name])}<br><small>{_share(line[name], line['swaps'])}</small>"

        return (name.capitalize(), write)

    columns: list[Column] = [("Dependencies", of("dependencies", mode)), ("Kind of edge", of("kind", cell))]
    columns += [("Swaps", of("swaps", count)), *(part(name) for name in outcomes)]
    own = [wide[wide["dependencies"] == name].head(1 + _KINDS) for name in _order(swaps["dependencies"])]
    return table(columns, records(pd.concat(own)), right=2)
