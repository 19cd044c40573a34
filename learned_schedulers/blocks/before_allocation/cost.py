"""What a search makes small: the cost of a compiled function by its counts, without running it."""

from __future__ import annotations

from learned_schedulers.blocks.before_allocation.counts import Counts

MEMORY_TRIP = 1.0  # in instructions


def cost(counts: Counts) -> float:
    """Instructions, with one more for each spill and each reload, so that these are not worth as much as a move.

    A spill or reload is an instruction already, or it is folded into one and counts as none; in both cases it takes a
    store or load port, and a reload waits four to five cycles for its spill. That is about a second instruction on
    processors that issue four to six of them per cycle.
    """
    return counts.instructions + MEMORY_TRIP * (counts.spills + counts.reloads)
