"""Settings of graphs/schedulers/hdp.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive


class Settings(GraphMethodSettings):
    evaluations: Positive = 2000  # schedules that are simulated
    groups: Positive = 64  # 256 in the paper, for graphs of up to 50,000 operations
    width: Positive = 64  # 512 in the paper
    samples: Positive = 10  # placements between two steps of the optimiser
    learning_rate: Annotated[float, Field(gt=0)] = 3.0e-3
    entropy: Annotated[float, Field(ge=0)] = 0.01  # weight at first; it falls to 0
    baseline: Annotated[float, Field(ge=0, lt=1)] = 0.9  # share of the old mean of rewards that is kept at each step

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"target"})
