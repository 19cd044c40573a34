"""A text of intermediate code against what a search has written: legal orders of its blocks, and nothing else."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Block, functions


class NotProven(ValueError):
    """The new text is another program, or may be: a defect of this laboratory."""


def prove(before: str, after: str, precedes: Mapping[tuple[str, str], np.ndarray]) -> None:
    """Raises NotProven, with the place, where `after` is not `before` with blocks in legal orders.

    precedes: (n, n) of each block that may have changed, by the names of its function and itself; all others are equal.
    """
    rest = [after.split("\n"), before.split("\n")]
    for new, old in zip(functions(after), functions(before), strict=True):
        if new.head != old.head or len(new.blocks) != len(old.blocks):
            raise NotProven(f"{old.name}: its blocks are others")
        for block, source in zip(new.blocks, old.blocks, strict=True):
            place = f"{old.name}, block {source.label or 'entry'}"
            if (before_each := precedes.get((old.name, source.label))) is not None:
                slots = _slots(source, block, place)
                if (before_each & (slots[:, None] > slots)).any():
                    raise NotProven(f"{place}: its order breaks a dependency")
                for lines, begin in zip(rest, (block.begin, source.begin), strict=True):
                    size = sum(len(item.lines) for item in source.items)
                    lines[begin : begin + size] = [""] * size
    if rest[0] != rest[1]:
        number = next(i for i, (new_line, line) in enumerate(zip(*rest, strict=False), 1) if new_line != line)
        raise NotProven(f"line {number}: it changed, outside of the blocks that were ordered")


def _slots(source: Block, block: Block, place: str) -> np.ndarray:
    """(n,): the slot of each item of `source` in `block`; equal items keep their sequence."""
    positions: defaultdict[tuple[str, ...], deque[int]] = defaultdict(deque)
    for slot, item in enumerate(block.items):
        positions[item.lines].append(slot)
    if len(block.items) != len(source.items) or any(not positions[item.lines] for item in source.items):
        raise NotProven(f"{place}: its instructions are others")
    try:
        return np.array([positions[item.lines].popleft() for item in source.items])
    except IndexError:
        raise NotProven(f"{place}: its instructions are others") from None
