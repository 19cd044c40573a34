"""Settings of the measurements of every experiment."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pipeline.config.intervals import Intervals
from pipeline.config.section import Positive


class Evaluation(Intervals):
    sweep_iterations: list[Annotated[int, Field(ge=0)]]
    example_blocks: Positive
