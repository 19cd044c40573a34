"""The order before scheduling as a permutation of the order after it: is it legal, and how far are the two apart?"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from pipeline.blocks.dag.dependencies import Kind


def input_order(after: Sequence[Hashable], before: Sequence[Hashable]) -> tuple[int, ...] | None:
    """order[t]: index in `after` of the instruction in slot t of `before`; None where the instructions differ.

    The k-th of equal instructions is matched with the k-th. That contradicts no dependency that the truth does not:
    equal instructions conflict with the same others, so if the two of a legal order change their names and no
    instruction that must stand between them separates them, the order stays legal; and if one does, or if they
    conflict with each other, no legal order has them the other way round.
    """
    if Counter(after) != Counter(before):
        return None
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for index, instruction in enumerate(after):
        places[instruction].append(index)
    return tuple(places[instruction].popleft() for instruction in before)


def violated(order: Sequence[int], before: ArrayLike, after: ArrayLike, kinds: ArrayLike) -> Kind:
    """The kinds of all dependencies before[e] -> after[e] that `order` turns round; Kind(0) where it is legal."""
    slot = np.argsort(np.asarray(order))
    wrong = slot[np.asarray(before, np.int64)] > slot[np.asarray(after, np.int64)]
    return Kind(int(np.bitwise_or.reduce(np.asarray(kinds, np.int64)[wrong], initial=0)))


def kendall_distance(order: Sequence[int]) -> int:
    """Pairs of instructions that stand the other way round than in 0..n-1 (Kendall 1938)."""
    return sum(first > second for first, second in combinations(order, 2))
