"""Settings of schedulers/search.py."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive

Walk = Literal["restarts", "annealing", "mcmc"]


class Settings(MethodSettings):
    needs: ClassVar = asks("machine")

    walk: Walk = "annealing"  # how it chooses the next order (on_machine/annealing.py)
    evaluations: Positive = 1000  # orders of each block that it times
