"""Settings of graphs/schedulers/cp_sat.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive


class Settings(GraphMethodSettings):
    seconds: Annotated[float, Field(gt=0)] = (
        2.0  # of CP-SAT's deterministic time for each graph; some 3 of the clock each
    )
    most_operations: Positive = 50  # a graph with more is not tried

    @property
    def draws(self) -> bool:
        return False  # the seed of its search alone: what is proven does not depend on it
