"""The imitator of GCC in this package, in float32; the console command uses it."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.blocks.method_settings import ShippedImitator as Settings
from learned_schedulers.blocks.methods.ordering import Ordering
from learned_schedulers.blocks.problems.instructions import Encodings


def make(settings: Settings, weights: Path, encodings: Encodings) -> Ordering:
    return Ordering(settings, weights, encodings)
