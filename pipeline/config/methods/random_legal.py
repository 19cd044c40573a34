"""Settings of schedulers/random_legal.py, which has none."""

from __future__ import annotations

from pipeline.config.methods import MethodSettings


class Settings(MethodSettings):
    pass
