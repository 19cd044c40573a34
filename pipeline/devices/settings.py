"""Settings of schedules of computation graphs on simulated devices."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipeline.lab.config.experiments import SCHEDULES, OnGraphs, ShownGraphs


class Devices(OnGraphs):
    """Makespans of schedules of computation graphs on simulated devices."""

    drawn: ClassVar[tuple[str, ...]] = SCHEDULES
    reads: ClassVar[tuple[str, ...]] = ("graphs", "graph_candidates", "makespans")
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("makespan", "list_scheduling"),)
    in_report: ClassVar[bool] = True

    task: Literal["devices"]
    shown: ShownGraphs | None = None
