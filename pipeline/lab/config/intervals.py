"""Settings of the intervals of all numbers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from learned_schedulers.section import Positive, Section


class Intervals(Section):
    bootstrap_samples: Positive
    confidence: Annotated[float, Field(gt=0, lt=1)]
