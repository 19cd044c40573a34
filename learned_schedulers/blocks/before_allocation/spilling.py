"""What a register allocator would have to store and load for an order, without compiling it.

Belady 1966 ("A study of replacement algorithms"): where registers are missing, the value that is read latest is put
into memory. LLVM's allocator is another, but orders that cost much here cost much there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.blocks.before_allocation.problem import Problem, Values


class Spilling(NamedTuple):
    """Machine registers that are stored, because others are needed, and those that are loaded again."""

    spills: int
    reloads: int


def spilling(problem: Problem, order: np.ndarray) -> Spilling:
    """Of a legal order (n,).

    What an instruction reads is in registers together. A value is stored once, and values that enter are in registers
    at the begin. What is read behind the block is not loaded for that.
    """
    limits = np.array((0, *problem.limits))
    spills, reloads = _spilling(problem.values, np.ascontiguousarray(order, np.int64), limits)
    return Spilling(int(spills), int(reloads))


@njit(cache=True, nogil=True)
def _spilling(values: Values, order: np.ndarray, limits: np.ndarray) -> tuple[int, int]:
    n, count = len(order), len(values.stays)
    offsets, items = values.reads
    slot = np.empty(n, np.int64)
    slot[order] = np.arange(n)
    places = np.zeros(count + 1, np.int64)  # of the slots that read each value, ascending
    for v in items:
        places[v + 1] += 1
    places = np.cumsum(places)
    uses, ends = np.empty(len(items), np.int64), places[:-1].copy()
    for t in range(n):
        for v in items[offsets[order[t]] : offsets[order[t] + 1]]:
            uses[ends[v]] = t
            ends[v] += 1
    nexts = places[:-1].copy()  # of each value, the place of its next use
    free = limits.copy()
    inside, stored = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    residents = np.empty(count, np.int64)  # values in registers
    total = 0
    spills = reloads = 0
    for v in range(n, count):
        if (places[v] < places[v + 1] or values.stays[v]) and values.registers[v]:
            inside[v] = True
            residents[total] = v
            total += 1
            free[values.classes[v]] -= values.registers[v]
    for t in range(n):
        i = order[t]
        read = items[offsets[i] : offsets[i + 1]]
        for v in read:
            if not inside[v] and values.registers[v]:
                reloads += values.registers[v]
                inside[v] = True
                residents[total] = v
                total += 1
                free[values.classes[v]] -= values.registers[v]
        for step in range(2):  # before the instruction, then with its result
            for kind in (1, 2):
                while free[kind] < 0:
                    latest, victim = t, -1
                    for position in range(total):
                        v = residents[position]
                        if values.classes[v] != kind or v == i:
                            continue
                        use = uses[nexts[v]] if nexts[v] < places[v + 1] else n
                        if use > latest:
                            latest, victim = use, position
                    if victim < 0:
                        break
                    v = residents[victim]
                    if not stored[v]:
                        stored[v] = True
                        spills += values.registers[v]
                    inside[v] = False
                    free[kind] += values.registers[v]
                    total -= 1
                    residents[victim] = residents[total]
            if step == 0:
                for v in read:
                    nexts[v] += 1
                position = 0
                while position < total:  # those that nothing reads any more
                    v = residents[position]
                    if nexts[v] == places[v + 1] and not values.stays[v]:
                        inside[v] = False
                        free[values.classes[v]] += values.registers[v]
                        total -= 1
                        residents[position] = residents[total]
                    else:
                        position += 1
                if values.registers[i] and (places[i] < places[i + 1] or values.stays[i]):
                    inside[i] = True
                    residents[total] = i
                    total += 1
                    free[values.classes[i]] -= values.registers[i]
    return spills, reloads
