"""Orders that a DAG allows: all of them where they are few, else a sample with the most reordered ones in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from pipeline.blocks.dag.sampling import random_ready
from pipeline.blocks.dag.topology import adjacency

Order = tuple[int, ...]


def _all(predecessors: list[int]) -> Iterator[Order]:
    """Every legal order, the original first; `predecessors[i]`: bit set of what must come before i."""
    n = len(predecessors)
    everything = (1 << n) - 1
    stack: list[tuple[int, Order]] = [(0, ())]
    while stack:
        placed, order = stack.pop()
        if placed == everything:
            yield order
            continue
        for i in reversed(range(n)):
            if not placed >> i & 1 and not predecessors[i] & ~placed:
                stack.append((placed | 1 << i, (*order, i)))


def _last_first(predecessors: list[int]) -> Order:
    """Every slot takes the ready instruction that stood last."""
    order: list[int] = []
    placed = 0
    while len(order) < len(predecessors):
        i = max(i for i, needed in enumerate(predecessors) if not placed >> i & 1 and not needed & ~placed)
        order.append(i)
        placed |= 1 << i
    return tuple(order)


def _first_last(predecessors: list[int]) -> Order:
    """From the end: every slot takes what stood first among that which nothing left waits for."""
    n = len(predecessors)
    successors = [sum(1 << k for k in range(n) if predecessors[k] >> i & 1) for i in range(n)]
    # The same greedy choice on the reversed DAG, with the numbers turned round so that "last" means "first".
    turned = [sum(1 << n - 1 - k for k in range(n) if successors[n - 1 - i] >> k & 1) for i in range(n)]
    return tuple(n - 1 - i for i in reversed(_last_first(turned)))


def draw(predecessors: list[int], count: int, rng: np.random.Generator) -> list[Order]:
    """At most `count` orders that the DAG allows, none of them the original, in a fixed sequence.

    predecessors[i]: bit set of the direct predecessors of instruction i. All orders where there are no more than
    `count`; else the two greedy ones that move the most, and random ones.
    """
    n = len(predecessors)
    original = tuple(range(n))
    few = list(islice(_all(predecessors), count + 2))
    if len(few) <= count + 1:
        return [order for order in few if order != original]
    pairs = [(i, k) for k, needed in enumerate(predecessors) for i in range(n) if needed >> i & 1]
    before, after = (np.array([pair[side] for pair in pairs], np.intp) for side in (0, 1))
    precedes = adjacency(n, [before], [after]).repeat(2 * count, 0)
    drawn = [_last_first(predecessors), _first_last(predecessors), *map(tuple, random_ready(precedes, rng).tolist())]
    return list(dict.fromkeys(order for order in drawn if order != original))[:count]
