"""Settings of graphs/schedulers/randomised_list.py."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from pipeline.config.graph_methods import GraphMethodSettings

Level = Annotated[float, Field(gt=0)]


class Settings(GraphMethodSettings):
    least_noise: Level = 0.01  # standard deviation of the logarithm of a priority; drawn log-uniform between these two
    most_noise: Level = 1.0

    @model_validator(mode="after")
    def _levels_are_a_range(self) -> Settings:
        if self.least_noise > self.most_noise:
            raise ValueError(f"least_noise {self.least_noise} is more than most_noise {self.most_noise}")
        return self
