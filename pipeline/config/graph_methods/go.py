"""Settings of graphs/schedulers/go.py."""

from __future__ import annotations

from typing import Literal

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive
from pipeline.config.whole_graph import WholeGraph

Tasks = Literal["joint", "separate", "placement", "priority"]


class Settings(GraphMethodSettings):
    evaluations: Positive = 2000  # schedules that are simulated
    model: str | None = None  # a network that was trained on other graphs; none: it begins without knowledge
    learns: bool = True  # from its own evaluations; without a model and without learning, moves are drawn at random
    tasks: Tasks = "joint"  # separate: first all placements, then all priorities
    # What the first round starts from: HEFT's schedule, even where it exceeds the memory (repaired before, it leads to
    # worse ones in the end), or the expert's placement by layers, repaired.
    start: Literal["open", "expert"] = "open"
    settings: WholeGraph = WholeGraph()

    @property
    def network(self) -> str | None:
        return self.model

    @property
    def needs(self) -> frozenset[str]:
        weights = set() if self.model is None else {"weights"}
        return frozenset({"target"} | weights | ({"expert"} if self.start == "expert" else set()))
