"""Settings of graphs/schedulers/brkga.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import SightedSettings
from pipeline.config.section import Positive


class Settings(SightedSettings):
    evaluations: Positive = 1000  # schedules that are simulated
    population: Annotated[int, Field(ge=10)] = 100  # a fifth of it elites, a tenth of it mutants
    bias: Annotated[float, Field(ge=0.5, le=1)] = 0.7  # probability that a key comes from the elite parent
