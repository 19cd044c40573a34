"""Modes of dependencies, and samplers of legal orders."""

from __future__ import annotations

from typing import Literal

Dependencies = Literal["full", "conservative", "paper"]
Sampler = Literal["random_ready", "uniform"]
