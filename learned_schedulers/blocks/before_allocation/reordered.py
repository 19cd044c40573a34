"""The text of intermediate code with the blocks of its functions in other orders."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Block


def reordered(text: str, orders: Iterable[tuple[Block, np.ndarray]]) -> str:
    """The text with each of these blocks in its order, (n,): order[t] is the index of the item in slot t.

    Raises ValueError if an order is no permutation.
    """
    lines = text.split("\n")
    for block, order in orders:
        if not np.array_equal(np.sort(order), np.arange(len(block.items))):
            raise ValueError(f"block {block.label or 'entry'}: the order is no permutation of its instructions")
        moved = [line for i in order.tolist() for line in block.items[i].lines]
        lines[block.begin : block.begin + len(moved)] = moved
    return "\n".join(lines)
