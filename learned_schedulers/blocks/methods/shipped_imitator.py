"""The imitator of GCC in this package, in float32; the console command uses it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from learned_schedulers.blocks.method_settings import MethodSettings, asks
from learned_schedulers.blocks.methods.ordering import Ordering
from learned_schedulers.blocks.methods.ordering import Settings as OrderingSettings
from learned_schedulers.blocks.problems.instructions import Encodings


class Settings(MethodSettings):
    needs: ClassVar = asks("weights encodings")
    shipped: ClassVar = "learned_schedulers/blocks/models/shipped/imitator.safetensors"


def make(settings: Settings, weights: Path, encodings: Encodings) -> Ordering:
    return Ordering(OrderingSettings(), weights, encodings)
