"""Placed schedules that two cores executed: measured makespans, and how well others rank the schedules."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, over, two_digits
from pipeline.lab.page.names import label
from pipeline.lab.page.numbers import count
from pipeline.lab.page.tables import Column, lines, metric, of, table, value
from pipeline.placement.page.shared import EXECUTED

_MACHINE = "this_machine"
_METHODS = ("expert_layers", "expert_balanced", "placed_list", "placed_heft", "placed_metis", "go", "go_untaught")
_TARGETS = {"two_cores": "the simulator's", _MACHINE: "the same schedules, measured in other processes"}


def section(evidence: Evidence) -> dict[str, Any]:
    """Tables of makespans over the first expert's, and of rank correlations with measured makespans."""
    rows = evidence.of(EXECUTED)
    query = {"comparison": "ratio", "judge": _MACHINE, "baseline": _METHODS[0]}
    shown: list[Column] = [METHOD, (f"Against {label(_METHODS[0])}", metric(over, "makespan", **query))]
    shown.append(("Graphs", value(count, "makespan", "n", **query)))
    ranked: list[Column] = [
        ("Makespans", of("target", lambda name: _TARGETS[name])),
        ("Rank correlation", metric(two_digits, "rank_correlation")),
        ("Graphs", value(count, "rank_correlation", "n")),
    ]
    measured = rows[rows["metric"] == "makespan"]
    correlations = rows[(rows["metric"] == "rank_correlation") & rows["target"].isin(_TARGETS)]
    return {
        "makespans": table(shown, lines(measured, ["method"], {"method": _METHODS}), right=1),
        "correlations": table(ranked, lines(correlations, ["target"], {"target": _TARGETS}), right=1),
    }
