"""Schedules that two cores of a machine really executed: which target ranks them alike, which methods gain."""

from __future__ import annotations

from typing import Any

from pipeline.report.devices import pictures
from pipeline.report.evidence import Evidence
from pipeline.report.names import in_order, label
from pipeline.report.numbers import Row, Write, count, number, percent, ratio, spread, two
from pipeline.report.plots import drawings
from pipeline.report.tables import Column, Line, Table, lines, metric, of, records, table, value

EXPERIMENT, THIS_MACHINE = "this_machine", "this_machine"
_NAMES = {THIS_MACHINE: "the same schedules in other processes"}
_MEASURED: dict[str, tuple[str, Write]] = {
    "executed_schedules": ("Different schedules of a graph", count),
    "operations": ("Operations of a graph, after small ones were merged", count),
    "undisturbed_share": ("Runs during which no other process had one of the cores", percent),
    "relative_difference": ("Difference between two pairs of processes", percent),
    "flops_per_second": ("GFLOP/s of a product", lambda rate: number(rate / 1e9, 1)),
    "swept_bytes_per_second": ("GB/s of a sweep over memory", lambda rate: number(rate / 1e9, 1)),
    "copied_bytes_per_second": ("GB/s of copying a result from the other core", lambda rate: number(rate / 1e9, 1)),
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; without lines where nothing was executed."""
    rows = evidence.of(EXPERIMENT)
    if rows.empty:
        return {"correlations": {}}
    settings, drawn = evidence.settings(EXPERIMENT), evidence.table("executed_points", EXPERIMENT)
    order = [*settings.get("targets", ()), THIS_MACHINE]
    correlations, makespans = (rows[rows["metric"] == name] for name in ("rank_correlation", "makespan"))
    shown: list[Column] = [
        ("Target", of("target", lambda target: _NAMES.get(target, target))),
        ("Rank correlation", metric(_two, "rank_correlation")),
        ("Graphs", value(count, "rank_correlation", "n")),
    ]
    return {
        "correlations": table(shown, lines(correlations, ["target"], {"target": order}), right=1),
        "makespans": table(
            [
                ("Method", of("method", label)),
                ("Over list scheduling", _over("list_scheduling")),
                ("Over one device", _over("one_device")),
                ("Graphs", value(count, "makespan", "n", **_to("list_scheduling"))),
            ],
            lines(makespans, ["method"], {"method": settings.get("methods", ())}),
            right=1,
        ),
        "measured": _measured(records(evidence.results[evidence.results["experiment"] == EXPERIMENT])),
        "figures": drawings(devices_executed=(pictures.executed, drawn, in_order(drawn["target"], order))),
    }


def _two(row: Row | None) -> str:
    return spread(row, two)


def _over(baseline: str) -> Any:
    return metric(ratio, "makespan", **_to(baseline))


def _to(baseline: str) -> dict[str, str]:
    return {"comparison": "ratio", "judge": THIS_MACHINE, "baseline": baseline}


def _measured(rows: list[Line]) -> Table:
    """What was measured, and how well: medians, with the least and the most."""
    by_metric = {line["metric"]: line.place for line in rows}
    named = [(said, spread(by_metric[name], write)) for name, (said, write) in _MEASURED.items() if name in by_metric]
    return Table(["What", "Value"], [list(cells) for cells in named], right=1)
