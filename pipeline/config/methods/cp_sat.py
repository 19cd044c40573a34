"""Settings of schedulers/cp_sat.py."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive


class Settings(MethodSettings):
    needs: ClassVar = asks("machine")

    evaluations: Positive = 300  # orders of each block that search times, once before CP-SAT and once after it
    seconds: Annotated[float, Field(gt=0)] = 1.0  # of CP-SAT's deterministic time for each block
