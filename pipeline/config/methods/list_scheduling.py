"""Settings of schedulers/list_scheduling.py."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipeline.config.methods import MethodSettings, asks

Priority = Literal["critical_path", "weighted_height", "register_pressure", "source_order"]


class Settings(MethodSettings):
    uses: ClassVar = asks("machine")

    priority: Priority = "critical_path"  # of ready instructions; weighted_height needs a machine
