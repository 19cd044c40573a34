"""Settings of schedulers/milp.py."""

from __future__ import annotations

from typing import ClassVar

from pipeline.config.methods import MethodSettings, asks
from pipeline.config.section import Positive


class Settings(MethodSettings):
    uses: ClassVar = asks("machine")

    nodes: Positive = 100  # of the search tree of each block that HiGHS visits
