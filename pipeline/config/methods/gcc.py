"""Settings of schedulers/gcc.py, which has none. No other method receives the label."""

from __future__ import annotations

from typing import ClassVar

from pipeline.config.methods import MethodSettings, asks


class Settings(MethodSettings):
    needs: ClassVar = asks("label")
