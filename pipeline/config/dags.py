"""How dependencies are told, and how legal orders are drawn."""

from __future__ import annotations

from typing import Literal

Dependencies = Literal["full", "conservative", "paper"]
Sampler = Literal["random_ready", "uniform"]
