"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import Drawn

PICTURE = Drawn(
    "own_models_totals",
    "Measured over expected seconds of ten models; the band is a factor of two",
)
