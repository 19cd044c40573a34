"""Settings of schedulers/branch_and_bound.py."""

from __future__ import annotations

from typing import ClassVar

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive


class Settings(MethodSettings):
    needs: ClassVar = asks("machine")

    evaluations: Positive = 300  # orders of each block that the initial search times
    states: Positive = 100_000  # beginnings of orders of each block that it visits
