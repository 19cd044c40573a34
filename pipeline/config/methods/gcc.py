"""Settings of schedulers/gcc.py: it has none, and is the one method that is told the label."""

from __future__ import annotations

from typing import ClassVar

from pipeline.config.methods import MethodSettings, asks


class Settings(MethodSettings):
    needs: ClassVar = asks("label")
