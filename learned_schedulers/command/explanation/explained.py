"""A block and its new order -> both traces in the model of a processor, and what bounds them."""

from __future__ import annotations

from typing import NamedTuple

from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.order.gains import Gain
from learned_schedulers.blocks.order.lower_bounds import Bounds, lower_bounds
from learned_schedulers.blocks.order.trace import Trace, trace
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.read.assembly import intel, split


class Explained(NamedTuple):
    """A block of at most 64 instructions, or a part of one, in two orders."""

    places: tuple[str, ...]  # in the file, of blocks with this code
    first: int  # index in its block of its first instruction
    is_part: bool  # of a longer block, which is ordered in parts
    texts: tuple[str, ...]  # of the instructions as they were
    before: Trace
    after: Trace
    bounds: Bounds


def explained(gain: Gain, processor: Processor, first_row: int) -> Explained:
    """What the page shows of a gain; of a block of more than 64 instructions the part of 64 that gains most.

    The block's instructions are rows of the processor's table, from `first_row` on.
    """
    texts = intel(gain.code)
    parts = []
    for begin in range(0, len(texts), LONGEST):
        order = [instruction - begin for instruction in gain.order[begin : begin + LONGEST]]
        rows = range(first_row + begin, first_row + begin + len(order))
        before, after = (trace(processor, rows, slots) for slots in (range(len(order)), order))
        names = tuple(texts[begin : begin + len(order)])
        bounds = lower_bounds(processor, rows)
        parts.append(Explained(gain.places, begin, len(texts) > LONGEST, names, before, after, bounds))
    return max(parts, key=lambda part: part.before.makespan - part.after.makespan)


def instructions(gains: list[Gain]) -> tuple[list[bytes], list[int]]:
    """Machine code of the instructions of all gains, one after the other, and the place of the first of each gain."""
    codes: list[bytes] = []
    first: list[int] = []
    for gain in gains:
        first.append(len(codes))
        codes += split(gain.code)
    return codes, first
