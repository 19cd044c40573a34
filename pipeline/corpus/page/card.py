"""What opens the page."""

from __future__ import annotations

from pipeline.lab.page.cards import Drawn

PICTURE = Drawn(
    "corpus",
    "Lengths and legal orders of the blocks of the corpus, and the distance of ready orders from uniform",
)
