"""Settings of the measurements of every experiment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive
from pipeline.lab.config.intervals import Intervals


class Evaluation(Intervals):
    sweep_iterations: list[Annotated[int, Field(ge=0)]]
    example_blocks: Positive
