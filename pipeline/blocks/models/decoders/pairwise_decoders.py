"""Of pairwise preferences: none but the head's own."""

from __future__ import annotations

from pipeline.blocks.models.decoders import Decoder

DECODERS: dict[str, Decoder] = {}
