"""Settings of graphs/schedulers/annealing.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.graph_methods import SightedSettings
from pipeline.config.section import Positive

Share = Annotated[float, Field(gt=0)]


class Settings(SightedSettings):
    evaluations: Positive = 1000  # schedules that are simulated, list scheduling's among them
    hot: Share = 0.005  # temperature at first and at last, in makespans of the schedule that it starts from
    cold: Share = 0.0005
