"""What is measured, and what the report shows."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from pipeline.config.section import Positive, Section


class Verification(Section):
    seed: int
    blocks: Positive
    control_blocks: Positive
    sensitivity_blocks: Positive
    orders: Positive
    states: Annotated[int, Field(ge=3)]
    aliased_states: Positive
    search_states: Annotated[int, Field(ge=4)]


class Intervals(Section):
    bootstrap_samples: Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Evaluation(Intervals):
    sweep_iterations: list[Annotated[int, Field(ge=0)]]
    example_blocks: Positive


class Residuals(Section):
    seed: int
    lengths: list[Annotated[int, Field(ge=2)]]
    blocks: Positive
    scale: Annotated[float, Field(gt=0)]
    iterations: list[Positive]
    shown: list[Positive]
    tolerance: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _shown_are_measured(self) -> Residuals:
        if extra := sorted(set(self.shown) - set(self.iterations)):
            raise ValueError(f"shown names {extra}, which iterations has not")
        return self


class Report(Section):
    experiments: Annotated[list[str], Field(min_length=1)]
