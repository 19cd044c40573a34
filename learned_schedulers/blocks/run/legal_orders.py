"""Legal orders of a DAG: all of them if they are few, else a sample that contains two extreme ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.dag.topology import adjacency

Order = tuple[int, ...]


def all_orders(predecessors: list[int]) -> Iterator[Order]:
    """Every legal order, the original one first; `predecessors[i]`: direct predecessors of i, as bits."""
    n = len(predecessors)
    all_instructions = (1 << n) - 1
    stack: list[tuple[int, Order]] = [(0, ())]
    while stack:
        placed, order = stack.pop()
        if placed == all_instructions:
            yield order
            continue
        for i in reversed(range(n)):
            if not placed >> i & 1 and not predecessors[i] & ~placed:
                stack.append((placed | 1 << i, (*order, i)))


def _last_first(predecessors: list[int]) -> Order:
    """The order in which every slot gets the last ready instruction of the original order."""
    order: list[int] = []
    placed = 0
    while len(order) < len(predecessors):
        i = max(i for i, required in enumerate(predecessors) if not placed >> i & 1 and not required & ~placed)
        order.append(i)
        placed |= 1 << i
    return tuple(order)


def _first_last(predecessors: list[int]) -> Order:
    """From the end: every slot gets the first instruction of the original order on which no unplaced one depends."""
    n = len(predecessors)
    successors = [sum(1 << k for k in range(n) if predecessors[k] >> i & 1) for i in range(n)]
    # The same greedy choice on the reversed DAG, with reversed numbers, so that "last" means "first".
    mirrored = [sum(1 << n - 1 - k for k in range(n) if successors[n - 1 - i] >> k & 1) for i in range(n)]
    return tuple(n - 1 - i for i in reversed(_last_first(mirrored)))


def draw(predecessors: list[int], count: int, rng: np.random.Generator) -> list[Order]:
    """At most `count` legal orders without the original one, in a fixed sequence.

    predecessors[i]: the direct predecessors of instruction i, as bits. The result has all orders if there are at most
    `count`; else it has the two greedy orders that move instructions the most, and random ones.
    """
    n = len(predecessors)
    original = tuple(range(n))
    first_orders = list(islice(all_orders(predecessors), count + 2))
    if len(first_orders) <= count + 1:
        return [order for order in first_orders if order != original]
    pairs = [(i, k) for k, required in enumerate(predecessors) for i in range(n) if required >> i & 1]
    before, after = (np.array([pair[side] for pair in pairs], np.intp) for side in (0, 1))
    precedes = adjacency(n, [before], [after]).repeat(2 * count, 0)
    drawn = [_last_first(predecessors), _first_last(predecessors), *map(tuple, random_ready(precedes, rng).tolist())]
    return list(dict.fromkeys(order for order in drawn if order != original))[:count]
