"""The least excess of registers, then the least peak: dynamic programming over sets of instructions that come first.

What is alive behind a set does not depend on its order. So only the best order of a set is continued, by the pair of
excess and peak: the first adds up over slots, the second never falls. Sets of one size are extended together. A set is
dropped if it is no better than a heuristic's whole order. If an instruction adds no register of either class, and
nothing is alive beyond the limits behind it, it comes next at once: in any order, moving it there costs nothing in its
slot, and makes no later slot dearer, because it frees at least as much there.

Where a size has more than SETS sets, the worst are dropped: then the order is the best of a beam, and not proven.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation.methods import (
    input_order,
    pressure_list,
    recursive_halves,
    sethi_ullman,
)
from learned_schedulers.blocks.before_allocation.pressure import excess, pressure
from learned_schedulers.blocks.before_allocation.problem import Problem

MOST = 40  # instructions for which sets are looked at
SETS = 20_000  # of a size
_FIRST = (input_order, sethi_ullman, pressure_list, recursive_halves)  # heuristics


class Least(NamedTuple):
    """The best order."""

    order: np.ndarray  # (n,) int64
    excess: int  # registers beyond the limits, summed over slots and classes
    peak: (
        int  # the most registers alive in a slot, of the class for which this is most above the limit; minus the limit
    )
    proven: bool  # no order has a smaller excess, and none with this excess a smaller peak


class _Sets(NamedTuple):
    """Sets of instructions of one size, s of them, each by its best order."""

    masks: np.ndarray  # (s,) uint64, distinct
    alive: np.ndarray  # (s, 2) int64: registers behind it, by class
    excess: np.ndarray  # (s,) int64
    peak: np.ndarray  # (s,) int64
    parent: np.ndarray  # (s,) int64: the set without the last instruction, among those of one less
    last: np.ndarray  # (s,) int64: the last instruction


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """The order, (n,) int64, proven or not; nothing is drawn."""
    return least(problem, rng).order


def least(problem: Problem, rng: np.random.Generator, sets: int = SETS) -> Least:
    """The best order; for more than MOST instructions that of the best heuristic, not proven."""
    orders = [method.order(problem, rng) for method in _FIRST]
    best = min((_cost(problem, each), k) for k, each in enumerate(orders))
    incumbent = Least(orders[best[1]], *best[0], proven=False)
    n = len(problem.leaves)
    if not 0 < n <= MOST:
        return incumbent._replace(proven=n == 0)
    levels = [_nothing(problem)]
    proven = True
    for _ in range(n):
        level = _distinct(_extended(problem, levels[-1], (incumbent.excess, incumbent.peak)))
        if not len(level.masks):
            return incumbent._replace(proven=proven)
        if len(level.masks) > sets:
            chosen = np.sort(np.lexsort((level.masks, level.peak, level.excess))[:sets])
            level, proven = _Sets(*(part[chosen] for part in level)), False
        levels.append(level)
    slots, place = [], 0
    for level in levels[:0:-1]:
        slots.append(int(level.last[place]))
        place = int(level.parent[place])
    best_order = np.array(slots[::-1], np.int64)
    return Least(best_order, int(levels[-1].excess[0]), int(levels[-1].peak[0]), proven)


_MANY = 1 << 30


def _nothing(problem: Problem) -> _Sets:
    """The empty set: values that enter are alive."""
    n, values = len(problem.leaves), problem.values
    enters = ((_readers(problem) != 0) | values.stays) & (np.arange(len(values.stays)) >= n)
    alive = [values.registers[enters & (values.classes == kind)].sum() for kind in (1, 2)]
    nobody, zero = np.full(1, -1), np.zeros(1, np.int64)
    return _Sets(zero.astype(np.uint64), np.array([alive]), zero, np.full(1, -_MANY), nobody, nobody)


def _cost(problem: Problem, order: np.ndarray) -> tuple[int, int]:
    """Excess, and peak above the limit."""
    above = (pressure(problem, order) - np.array(problem.limits)).max(initial=-_MANY)
    return excess(problem, order), int(above)


def _extended(problem: Problem, level: _Sets, incumbent: tuple[int, int]) -> _Sets:
    """All sets with an instruction more that may be better than the incumbent; the same set may come several times."""
    values, n = problem.values, len(problem.leaves)
    before = _masks(problem.precedes.T)
    readers = _readers(problem)
    after = np.full(len(level.masks), -1)  # the instruction that comes next at once
    extended: list[_Sets] = []
    for i in range(n):
        bit = np.uint64(1 << i)
        parents = np.flatnonzero(((level.masks & bit) == 0) & ((before[i] & ~level.masks) == 0))
        masks = level.masks[parents] | bit
        alive, now = level.alive[parents].copy(), level.alive[parents].copy()
        if (kind := int(values.classes[i]) - 1) >= 0:
            now[:, kind] += values.registers[i]
            alive[:, kind] += values.registers[i] * (readers[i] != 0 or values.stays[i])
        for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]].tolist():
            if (kind := int(values.classes[v]) - 1) >= 0 and not values.stays[v]:
                freed = values.registers[v] * ((readers[v] & ~masks) == 0)
                alive[:, kind] -= freed
                now[:, kind] -= freed
        above = now - np.array(problem.limits)
        costs = level.excess[parents] + np.maximum(above, 0).sum(1)
        peaks = np.maximum(level.peak[parents], above.max(1))
        at_once = (now <= level.alive[parents]).all(1) & (above <= 0).all(1) & (level.masks[parents] != 0)
        after[parents] = np.where(at_once & (after[parents] < 0), i, after[parents])
        extended.append(_Sets(masks, alive, costs, peaks, parents, np.full(len(masks), i)))
    every = _Sets(*(np.concatenate(parts) for parts in zip(*extended, strict=True)))
    better = (every.excess < incumbent[0]) | ((every.excess == incumbent[0]) & (every.peak < incumbent[1]))
    chosen = better & ((after[every.parent] < 0) | (after[every.parent] == every.last))
    return _Sets(*(part[chosen] for part in every))


def _distinct(sets: _Sets) -> _Sets:
    """The cheapest of each set, the first of equals."""
    by_mask = np.lexsort((sets.peak, sets.excess, sets.masks))
    masks = sets.masks[by_mask]
    first = by_mask[np.r_[True, masks[1:] != masks[:-1]][: len(masks)]]
    return _Sets(*(part[first] for part in sets))


def _readers(problem: Problem) -> np.ndarray:
    """(n + m,) uint64: the instructions that read each value."""
    reads = problem.values.reads
    matrix = np.zeros((len(problem.values.stays), len(problem.leaves)), bool)
    matrix[reads.items, np.repeat(np.arange(len(problem.leaves)), np.diff(reads.offsets))] = True
    return _masks(matrix)


def _masks(matrix: np.ndarray) -> np.ndarray:
    """Rows of a bool matrix as uint64, column k as bit k."""
    return (matrix.astype(np.uint64) << np.arange(matrix.shape[1], dtype=np.uint64)).sum(1, dtype=np.uint64)
