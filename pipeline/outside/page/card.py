"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import Drawn

PICTURE = Drawn(
    "outside_gaps",
    "Mean gap to the best makespans known, by set and method; the lines are intervals over instances",
)
