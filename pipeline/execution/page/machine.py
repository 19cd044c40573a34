"""Schedules that two cores executed: how well each target ranks them, and which methods gain."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import LIST, METHOD, two_digits
from pipeline.lab.page.names import in_order
from pipeline.lab.page.numbers import Write, count, number, percent, ratio, spread
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Cell, Column, Line, Table, lines, metric, of, records, table, value

EXPERIMENT, THIS_MACHINE = "this_machine", "this_machine"
_NAMES = {THIS_MACHINE: "the same schedules in other processes"}


def _billions(rate: float) -> str:
    return number(rate / 1e9, 1)


_MEASURED: dict[str, tuple[str, Write]] = {
    "executed_schedules": ("Different schedules of a graph", count),
    "operations": ("Operations of a graph after small ones were merged", count),
    "undisturbed_share": ("Runs during which no other process used the cores", percent),
    "relative_difference": ("Difference between two pairs of processes", percent),
    "flops_per_second": ("GFLOP/s of a matrix product", _billions),
    "swept_bytes_per_second": ("GB/s of a sweep over memory", _billions),
    "copied_bytes_per_second": ("GB/s of copying a result from the other core", _billions),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; tables are empty if nothing was executed."""
    rows = evidence.of(EXPERIMENT)
    if rows.empty:
        return {"correlations": {}}
    settings, drawn = evidence.settings(EXPERIMENT), evidence.table("executed_points", EXPERIMENT)
    order = [*settings.get("targets", ()), THIS_MACHINE]
    correlations, makespans = (rows[rows["metric"] == name] for name in ("rank_correlation", "makespan"))
    shown: list[Column] = [
        ("Target", of("target", lambda target: _NAMES.get(target, target))),
        ("Rank correlation", metric(two_digits, "rank_correlation")),
        ("Graphs", value(count, "rank_correlation", "n")),
    ]
    return {
        "correlations": table(shown, lines(correlations, ["target"], {"target": order}), right=1),
        "makespans": table(
            [
                METHOD,
                ("Over list scheduling", _over(LIST)),
                ("Over one device", _over("one_device")),
                ("Graphs", value(count, "makespan", "n", **_to(LIST))),
            ],
            lines(makespans, ["method"], {"method": settings.get("methods", ())}),
            right=1,
        ),
        "measured": _measured(records(evidence.results[evidence.results["experiment"] == EXPERIMENT])),
        "figures": drawings(devices_executed=(pictures.executed, drawn, in_order(drawn["target"], order))),
    }


def _over(baseline: str) -> Cell:
    """Measured makespan over the baseline's."""
    return metric(ratio, "makespan", **_to(baseline))


def _to(baseline: str) -> dict[str, str]:
    return {"comparison": "ratio", "judge": THIS_MACHINE, "baseline": baseline}


def _measured(rows: list[Line]) -> Table:
    """Properties of the machine and of the measurements: medians, with minimum and maximum."""
    by_metric = {line["metric"]: line.place for line in rows}
    named = [(text, spread(by_metric[name], write)) for name, (text, write) in _MEASURED.items() if name in by_metric]
    return Table(["Measurement", "Value"], [list(cells) for cells in named], right=1)
