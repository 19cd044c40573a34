"""Settings of schedulers/haifa.py."""

from __future__ import annotations

from typing import Literal

from pipeline.config.methods import MethodSettings
from pipeline.config.section import Positive

Rule = Literal["priority", "last_insn", "dependents"]


class Settings(MethodSettings):
    issue_rate: Positive = 4  # instructions per cycle
    rules: list[Rule] = ["priority", "last_insn", "dependents"]  # rules that rank ready instructions
