"""The order before scheduling as a permutation of the order after it: its legality, and the distance of the two."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from learned_schedulers.blocks.dag.dependencies import Kind


def input_order(after: Sequence[Hashable], before: Sequence[Hashable]) -> tuple[int, ...] | None:
    """order[t]: index in `after` of the instruction in slot t of `before`; None if the instructions differ.

    Among equal instructions the k-th of `before` is matched with the k-th of `after`. This matching violates no
    dependency that the true one does not violate. Equal instructions conflict with the same other instructions. So two
    equal instructions of a legal order can exchange their numbers and the order stays legal, unless they conflict with
    each other or an instruction must stay between them; and in these two cases no legal order reverses them.
    """
    if Counter(after) != Counter(before):
        return None
    indices_of: dict[Hashable, deque[int]] = defaultdict(deque)
    for index, instruction in enumerate(after):
        indices_of[instruction].append(index)
    return tuple(indices_of[instruction].popleft() for instruction in before)


def violated(order: Sequence[int], before: ArrayLike, after: ArrayLike, kinds: ArrayLike) -> Kind:
    """The kinds of all dependencies before[e] -> after[e] that `order` reverses; Kind(0) if it is legal."""
    slot = np.argsort(np.asarray(order))
    is_reversed = slot[np.asarray(before, np.int64)] > slot[np.asarray(after, np.int64)]
    return Kind(int(np.bitwise_or.reduce(np.asarray(kinds, np.int64)[is_reversed], initial=0)))


def kendall_tau_distance(order: Sequence[int]) -> int:
    """Kendall tau distance from the identity: number of pairs that are not in ascending order (Kendall 1938)."""
    return sum(first > second for first, second in combinations(order, 2))
