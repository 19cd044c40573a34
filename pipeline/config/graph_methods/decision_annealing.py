"""Settings of graphs/schedulers/decision_annealing.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive

Share = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    evaluations: Positive = 2000  # schedules that are simulated
    hot: Share = 0.005  # temperature at first and at last, in losses of the best so far
    cold: Share = 0.0002
    placing: Annotated[float, Field(ge=0, le=1)] = 0.7  # share of moves that place; others give priorities

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"})
