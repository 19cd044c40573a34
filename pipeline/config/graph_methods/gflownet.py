"""Settings of graphs/schedulers/gflownet.py."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.graph_methods import GraphMethodSettings
from pipeline.config.policy import SigmaUnit
from pipeline.config.section import Positive

Strength = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    model: str = "gflownet"  # the trained policy, of this experiment or of its `networks`
    sigma: Annotated[float, Field(gt=0)] = 0.005  # temperature: a lower one gives shorter and more similar schedules
    sigma_unit: SigmaUnit = "speedup"
    told: Literal["proxy", "drawn", "target"] = (
        "proxy"  # transfers and noise that the policy sees: none, random ones, or the target's
    )
    strengths: Positive = 10  # of `drawn`, each for an equal share of the schedules
    least_strength: Strength = 0.3  # slope and delay are log-uniform between these two, in mean run times
    most_strength: Strength = 0.8
    most_operations: Positive = 2000  # of a graph that it takes: its arrays have operations^2 entries

    @property
    def network(self) -> str:
        return self.model

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"weights", "target"} if self.told == "target" else {"weights"})
