"""The imitator of GCC in this package, in float32; the console command uses it."""

from __future__ import annotations

from pathlib import Path

from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.schedulers.ordering import Ordering
from pipeline.config.methods.ordering import Settings as OrderingSettings
from pipeline.config.methods.shipped_imitator import Settings


def make(settings: Settings, weights: Path, encodings: Encodings) -> Ordering:
    return Ordering(OrderingSettings(), weights, encodings)
