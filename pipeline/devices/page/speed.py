"""Run times of the methods for computation graphs, and how good their schedules are by then."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.graphs import METHOD, short
from pipeline.lab.page.names import in_order, set_label
from pipeline.lab.page.numbers import count
from pipeline.lab.page.plots import drawings
from pipeline.lab.page.tables import Column, lines, metric, table, value

EXPERIMENT = "graph_method_speed"
_SETS = ("unseen_real", "unseen_small")


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables and figures by name; tables are empty if nothing was published."""
    rows, parts = evidence.of(EXPERIMENT), evidence.table("parts", EXPERIMENT)
    sets = in_order(rows["set"], _SETS)
    methods = evidence.settings("devices").get("methods", ())
    shown: list[Column] = [METHOD]
    for name in sets:
        shown.append((set_label(name), metric(short, "seconds_per_graph", set=name)))
        shown.append(("Graphs", value(count, "seconds_per_graph", "n", set=name)))
    return {
        "times": table(shown, lines(rows, ["method"], {"method": methods}), right=1),
        "figures": drawings(devices_seconds=(pictures.by_seconds, parts[parts["by"] == "seconds"], sets)),
    }
