"""Of a doubly stochastic matrix: the decoders of soft assignments."""

from __future__ import annotations

from pipeline.blocks.models.decoders.soft_assignments import DECODERS as DECODERS
