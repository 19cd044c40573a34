"""Settings of the operator's residuals."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from learned_schedulers.section import Positive, Section


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


class Sections(Section):
    """Sections of the parameters."""

    residuals: Residuals
