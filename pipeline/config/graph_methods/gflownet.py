"""Settings of graphs/schedulers/gflownet.py."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.policy import SigmaUnit
from pipeline.config.section import Positive

Strength = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    model: str = "gflownet"  # the trained policy, of the experiment or of the one that it names
    sigma: Annotated[float, Field(gt=0)] = 0.005  # temperature: the lower, the shorter and the more alike
    sigma_unit: SigmaUnit = "speedup"
    told: Literal["proxy", "drawn", "target"] = "proxy"  # transfers and noise: none, drawn anew, or those of the target
    strengths: Positive = 10  # `drawn`: so many, each for an equal share of the schedules ...
    least_strength: Strength = 0.3  # ... slope and delay log-uniform between these, in mean run times
    most_strength: Strength = 0.8
    most_operations: Positive = 2000  # of a graph that it takes: its arrays have operations^2 entries

    @property
    def network(self) -> str:
        return self.model

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"weights", "target"} if self.told == "target" else {"weights"})
