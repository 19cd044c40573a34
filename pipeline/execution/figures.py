"""The figure of schedules that two cores executed."""

from __future__ import annotations

from pipeline.lab.page import graph_pictures as pictures
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import in_order
from pipeline.lab.page.plots import Drawing, drawings


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Simulated against measured speedups of one graph's schedules."""
    drawn = evidence.table("executed_points", "this_machine")
    targets = evidence.settings("this_machine").get("targets", ())
    return drawings(devices_executed=(pictures.executed, drawn, in_order(drawn["target"], targets)))
