"""Search by moves of instructions that stand together: what is taken is never dearer than where the search began.

A random legal order keeps far more values alive than the order of a program, so a search begins with a good order and
moves one to MOST instructions, which stand in sequence, to another place between their operands and their readers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

MOST = 16  # instructions that move together
BATCH = 8  # neighbours that are judged together
_TRIES = 100  # draws of a move before the search gives up: hardly anything can move


Orders = Sequence[np.ndarray]  # each (n,)
Costs = Callable[[Orders], np.ndarray]  # k orders -> (k,)


class Improved(NamedTuple):
    """The best order of a search."""

    order: np.ndarray  # (n,) int64: order[t] is the index of the instruction in slot t
    cost: float
    costs: list[float]  # best cost after each evaluation, the start's first


def improve(
    precedes: np.ndarray, order: np.ndarray, costs_of: Costs, evaluations: int, rng: np.random.Generator
) -> Improved:
    """The best order after `evaluations` orders, the start among them; BATCH neighbours of the best at a time.

    precedes: (n, n) bool, [i, k] is true if i must come before k; order: (n,), legal. A neighbour is kept if it costs
    no more. The best is judged again beside its neighbours, because a judge that errs flatters the one that it chose;
    this does not count as an evaluation. The same generator state and costs give the same order.
    """
    best = order.astype(np.int64)
    least = float(costs_of([best])[0])
    costs = [least]
    while len(costs) < evaluations:
        moves = [move(precedes, best, rng) for _ in range(min(BATCH, evaluations - len(costs)))]
        batch = [moved for moved in moves if moved is not None]
        if not batch:
            break
        now, *of_batch = costs_of([best, *batch]).tolist()
        chosen = int(np.argmin(of_batch))
        costs += np.minimum(now, np.minimum.accumulate(of_batch)).tolist()
        least = now
        if of_batch[chosen] <= now:
            best, least = batch[chosen], of_batch[chosen]
    return Improved(best, least, costs)


def move(precedes: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """A legal order in which some instructions of a legal one, that stand together, stand elsewhere; None if none is.

    Sizes of groups are drawn geometrically: half of all moves are of a single instruction.
    """
    n = len(order)
    for _ in range(_TRIES if n > 1 else 0):
        size = min(int(rng.geometric(0.5)), MOST, n - 1)
        begin = int(rng.integers(0, n - size + 1))
        group, before, after = order[begin : begin + size], order[:begin], order[begin + size :]
        operands = precedes[np.ix_(before, group)].any(1)
        readers = precedes[np.ix_(group, after)].any(0)
        first = int(np.flatnonzero(operands)[-1]) + 1 if operands.any() else 0
        last = begin + (int(np.flatnonzero(readers)[0]) if readers.any() else len(after))
        places = last - first  # other than where the group stands
        if places:
            place = first + int(rng.integers(0, places))
            place += place >= begin
            others = np.r_[before, after]
            return np.r_[others[:place], group, others[place:]]
    return None
