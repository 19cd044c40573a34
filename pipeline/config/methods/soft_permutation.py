"""Settings of schedulers/soft_permutation.py."""

from __future__ import annotations

from typing import ClassVar

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive


class Settings(MethodSettings):
    needs: ClassVar = asks("weights tokens")

    iterations: Positive | None = None  # of the operator; by default as many as in training
