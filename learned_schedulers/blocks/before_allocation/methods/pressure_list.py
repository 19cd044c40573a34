"""Integrated prepass scheduling: list scheduling that counts registers. Goodman and Hsu 1988, "Code scheduling and
register allocation in large basic blocks", International Conference on Supercomputing.

While more registers are free than a reserve, the instruction that can begin first is taken, of these the one with the
longest path to the end in cycles. When they run short, it is the instruction that leaves the fewest alive of the
classes that are short. Folded instructions are taken as soon as they are ready, and take no time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.before_allocation.opcodes import CYCLES
from learned_schedulers.blocks.before_allocation.problem import Problem, Values
from learned_schedulers.blocks.before_allocation.rows import Rows, true_columns

RESERVE = 2  # registers: with so many free or fewer they are short


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """The order, (n,) int64; nothing is drawn."""
    return listed(problem, np.ones(len(problem.leaves)), RESERVE)


def listed(problem: Problem, weights: np.ndarray, reserve: int) -> np.ndarray:
    """The order, (n,) int64, with paths to the end multiplied by weights (n,)."""
    successors = true_columns(problem.precedes)
    waiting = problem.precedes.sum(0)
    cycles = np.where(problem.folded, 0, CYCLES[problem.opcode]).astype(np.int64)
    limits = np.array(problem.limits) - reserve
    return _listed(successors, waiting, problem.values, problem.folded, cycles, weights, limits)


@njit(cache=True, nogil=True)
def _listed(
    successors: Rows,
    waiting: np.ndarray,
    values: Values,
    folded: np.ndarray,
    cycles: np.ndarray,
    weights: np.ndarray,
    limits: np.ndarray,
) -> np.ndarray:
    n = len(waiting)
    paths = np.zeros(n)
    for i in range(n - 1, -1, -1):
        for k in successors.items[successors.offsets[i] : successors.offsets[i + 1]]:
            paths[i] = max(paths[i], paths[k])
        paths[i] += cycles[i]
    paths *= weights
    readers = np.zeros(len(values.stays), np.int64)  # that have no slot yet
    for v in values.reads.items:
        readers[v] += 1
    alive = np.zeros(3, np.int64)
    for v in range(n, len(values.stays)):
        if readers[v] or values.stays[v]:
            alive[values.classes[v]] += values.registers[v]
    ready = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        if waiting[i] == 0:
            ready[count] = i
            count += 1
    begin, order, cycle = np.zeros(n, np.int64), np.empty(n, np.int64), 0
    added = np.zeros(3, np.int64)
    for slot in range(n):
        best, place = (1, 0, 0, 0.0, 0), 0
        for position in range(count):
            i = ready[position]
            _add(values, readers, i, added)
            more = 0
            for kind in (1, 2):
                if alive[kind] >= limits[kind - 1]:
                    more += added[kind]
            key = (-1 if folded[i] else 0, more, max(cycle, begin[i]), -paths[i], i)
            if key < best:
                best, place = key, position
        i = ready[place]
        _add(values, readers, i, added)
        alive += added
        order[slot] = i
        count -= 1
        ready[place] = ready[count]
        for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]]:
            readers[v] -= 1
        cycle = max(cycle, begin[i])
        for k in successors.items[successors.offsets[i] : successors.offsets[i + 1]]:
            begin[k] = max(begin[k], cycle + cycles[i])
            waiting[k] -= 1
            if waiting[k] == 0:
                ready[count] = k
                count += 1
        cycle += not folded[i]
    return order


@njit(cache=True, nogil=True)
def _add(values: Values, readers: np.ndarray, i: int, added: np.ndarray) -> None:
    """Set added (3,) to the registers that an instruction in the next slot adds to those alive, by class."""
    added[:] = 0
    if readers[i] or values.stays[i]:
        added[values.classes[i]] += values.registers[i]
    for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]]:
        if readers[v] == 1 and not values.stays[v]:
            added[values.classes[v]] -= values.registers[v]
