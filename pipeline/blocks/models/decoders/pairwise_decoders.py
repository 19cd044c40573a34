"""Decoders of pairwise preferences: there is none besides that of the head."""

from __future__ import annotations

from pipeline.blocks.models.decoders import Decoder

DECODERS: dict[str, Decoder] = {}
