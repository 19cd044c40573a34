"""Settings of the reproduction: networks for blocks of one length, and the residuals of their operator."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.section import Positive, Section
from pipeline.lab.config.experiments import EXACTNESS, OnBlocks


class Reproduction(OnBlocks):
    """POCSNet's experiment: networks for blocks of one length."""

    results: ClassVar[tuple[str, ...]] = ("results",)
    history: ClassVar[str | None] = "history"
    by_training: ClassVar[tuple[str, ...]] = ("sweep",)
    key_metrics: ClassVar[tuple[tuple[str, str], ...]] = EXACTNESS
    reads: ClassVar[tuple[str, ...]] = ("splits", "latency")
    batch: ClassVar[int] = 0

    task: Literal["reproduction"]
    models: dict[str, Training]


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
