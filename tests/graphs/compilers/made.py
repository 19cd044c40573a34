"""Fusion problems: random ones, and others written by hand. They are those of the library's checks."""

from __future__ import annotations

from learned_schedulers.conformance.fusion_problems import KINDS, UNIT, drawn, problem

__all__ = ["KINDS", "UNIT", "drawn", "problem"]
