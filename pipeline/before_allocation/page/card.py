"""What opens the page, and the line of the front page's figure about orders before registers are allocated."""

from __future__ import annotations

from pipeline.lab.page.cards import Drawn, Worth

PICTURE = Drawn(
    "before_allocation_candidates",
    "Cycles over LLVM's default by measured candidates, one line for each search",
)
WORTH = (
    Worth(
        "Functions before registers are\nallocated; over LLVM's default",
        {"experiment": "before_allocation", "set": "test", "metric": "cycles", "comparison": "ratio"}
        | {"baseline": "llvm default"},
        heuristic={"method": "pressure_list", "decoder": "candidates_1"},
        learned={"method": "learned_evolution", "decoder": "candidates_1000"},
        searched={"method": "evolution", "decoder": "candidates_1000"},
    ),
)
