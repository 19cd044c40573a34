"""Settings of learned policies for computation graphs."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from learned_schedulers.graphs.models.policy_settings import Policy
from pipeline.lab.config.experiments import SCHEDULES, OnGraphs, ShownGraphs


class Policies(OnGraphs):
    """As `devices`, with learned methods; each of them is also compared with some peers."""

    drawn: ClassVar[tuple[str, ...]] = SCHEDULES
    history: ClassVar[str | None] = "policy_history"
    reads: ClassVar[tuple[str, ...]] = (
        "graphs",
        "graph_candidates",
        "makespans",
        "schedule_distances",
        "policy_history",
    )
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("makespan", "list_scheduling"),)

    task: Literal["policies"]
    models: dict[str, Policy] = {}
    shown: ShownGraphs | None = None
    peers: Annotated[list[str], Field(min_length=1)]  # methods that all others are compared with, too
