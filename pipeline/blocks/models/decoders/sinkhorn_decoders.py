"""Decoders of a doubly stochastic matrix: those of soft assignments."""

from __future__ import annotations

from pipeline.blocks.models.decoders.soft_assignments import DECODERS as DECODERS
