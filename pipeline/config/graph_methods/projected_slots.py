"""Settings of graphs/schedulers/projected_slots.py."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.graph_methods import GraphMethodSettings

Noise = Literal["scores", "slots"]
Level = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    model: str = "popocs"  # the trained network that it loads, of the same experiment
    noise: Noise = "scores"  # what is disturbed: scores before the projection | expected slots after
    least_noise: Level = 0.01  # drawn log-uniform between these two; of the scores' standard deviation | of all slots
    most_noise: Level = 1.0

    @property
    def network(self) -> str:
        return self.model

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"weights"})

    @model_validator(mode="after")
    def _levels_are_a_range(self) -> Settings:
        if self.least_noise > self.most_noise:
            raise ValueError(f"least_noise {self.least_noise} is more than most_noise {self.most_noise}")
        return self
