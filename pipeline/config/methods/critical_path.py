"""Settings of schedulers/critical_path.py, which has none."""

from __future__ import annotations

from pipeline.config.methods import MethodSettings


class Settings(MethodSettings):
    pass
