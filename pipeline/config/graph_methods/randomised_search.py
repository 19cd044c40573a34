"""Settings of graphs/schedulers/randomised_search.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.section import Positive


class Settings(GraphMethodSettings):
    evaluations: Positive = 100_000  # schedules that are simulated
    noise: Annotated[float, Field(gt=0)] = 0.3  # standard deviation of the logarithm of a priority
