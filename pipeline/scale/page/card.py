"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import Drawn

PICTURE = Drawn(
    "scale_blocks",
    "Seconds and gigabytes of the pipeline against the number of distinct blocks, both axes logarithmic",
)
