"""The dependencies, tested by executing the code, as experiment `dag_verification` published it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from learned_schedulers.blocks.dag.corrections import CORRECTIONS
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order, mode
from pipeline.lab.page.numbers import cell, code, count, percent, small
from pipeline.lab.page.tables import Column, Table, columns, lines, of, records, table, value

EXPERIMENT = "dag_verification"
CONTROL = "paper"  # these dependencies leave flags out, so the executions must differ
_KINDS = 12  # number of the most frequent kinds of edges that are shown for each mode


SUMMARY: list[Column] = [
    ("Dependencies", of("dependencies", lambda name: mode(name) + " (control)" * (name == CONTROL))),
    ("Blocks from", of("set", cell)),
    ("Blocks", value(count, "blocks")),
    ("Runnable", value(percent, "runnable_share")),
    ("Orders tried", value(count, "orders")),
    ("State-runs", value(count, "state_runs")),
    ("Different", value(count, "different")),
    ("in undefined flags only", value(count, "undefined_flags_differ")),
    ("Swaps detected", value(lambda share: percent(share, 2), "sensitivity_raw")),
    ("after classification", value(lambda share: percent(share, 2), "sensitivity")),
]
STRATA: list[Column] = [
    *columns(mode, dependencies="Dependencies"),
    *columns(cell, by="By", name="Stratum"),
    *columns(count, blocks="Blocks"),
    ("Runnable", lambda line: _share(line["runnable"], line["blocks"])),
    *columns(count, orders="Orders tried", state_runs="State-runs", different="Different"),
]
REASONS = [
    *columns(mode, dependencies="Dependencies"),
    *columns(cell, reason="Reason"),
    *columns(count, blocks="Blocks"),
    *columns(code, example="For example"),
]
EXPLANATIONS = [
    *columns(mode, dependencies="Dependencies"),
    *columns(cell, outcome="Outcome", explanation="Explanation"),
    *columns(count, swaps="Swaps"),
    *columns(code, example="For example"),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables by name; they are empty if the code was not run."""
    rows = evidence.of(EXPERIMENT)
    order = {"dependencies": _order(rows["dependencies"]), "set": ["all"]}
    return {
        "summary": table(SUMMARY, lines(rows, ["dependencies", "set"], order), right=2),
        "strata": table(STRATA, records(evidence.table("strata")), right=3),
        "reasons": table(REASONS, records(evidence.table("reasons"))),
        "sensitivity": _sensitivity(evidence.table("swap_outcomes")),
        "explanations": table(EXPLANATIONS, records(evidence.table("explanations"))),
        "corrections": Table(["Correction", "Reason"], [[cell(each.name), cell(each.reason)] for each in CORRECTIONS]),
    }


def _order(modes: pd.Series) -> list[str]:
    """The modes, the control last."""
    return [*in_order(set(modes) - {CONTROL}, ["full"]), CONTROL]


def _share(part: float, whole: float) -> str:
    return percent(part / whole) if whole else "-"


def _sensitivity(swaps: pd.DataFrame) -> Table:
    """Swaps of each frequent kind of edge, with the number and share of each outcome."""
    last = {"changed": 0, "unexplained": 2}
    outcomes = sorted(set(swaps["outcome"]), key=lambda name: (last.get(name, 1), name))
    wide = swaps.groupby(["dependencies", "kind", "outcome"])["swaps"].sum().unstack(fill_value=0)
    wide = wide.assign(swaps=wide.sum(axis=1), first=wide.index.get_level_values("kind") != "all").reset_index()
    wide = wide.sort_values(["first", "swaps", "kind"], ascending=[True, False, True])

    def part(name: str) -> Column:
        return name.capitalize(), lambda line: small(count(line[name]), _share(line[name], line["swaps"]))

    kinds = [*columns(mode, dependencies="Dependencies"), *columns(cell, kind="Kind of edge")]
    swapped = [*columns(count, swaps="Swaps"), *(part(name) for name in outcomes)]
    shown = [wide[wide["dependencies"] == name].head(1 + _KINDS) for name in _order(swaps["dependencies"])]
    return table([*kinds, *swapped], records(pd.concat(shown)), right=2)
