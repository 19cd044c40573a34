"""The learned order of a block at once: list scheduling whose priority is a sum of learned weights times features.

In each slot the ready instruction of the highest priority is emitted. The weights change while registers fill up, as in
Goodman and Hsu, "Code scheduling and register allocation in large basic blocks" (1988), which switches between two
rules; there the rules are written by hand, and these weights are learned.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from learned_schedulers.blocks.before_allocation.problem import (
    CYCLES,
    OPCODES,
    Problem,
    Rows,
    Values,
    transposed,
    true_columns,
)

FEATURES = (  # of a ready instruction; each is about 0 to 1
    "overdue",  # slots since its place in the order of the program, over the length of the block
    "next",  # it follows the last emitted instruction in the program
    "height",  # cycles from it to the end of the block, over the block's most
    "frees_general",  # registers whose last reader it is
    "frees_vector",
    "needs_general",  # registers of its result
    "needs_vector",
    "recency",  # 1 / (1 + slots since the youngest of its operands)
    "age",  # 1 / (1 + slots since the oldest)
    "waits",  # cycles until its operands are there, if each cycle issues four instructions, over 10
    "load",
    "store",
    "readers",  # log of 1 + their number
    "enables",  # log of 1 + the number of instructions that it makes ready
    "partners",  # log of 1 + operands that its nearest reader still misses beside it
    "reader_distance",  # from its place to its first unscheduled reader's in the program, over the length of the block
    "folded",
    "descent",  # it reads the result that was emitted last
)
PARTS = 3  # of the weights: always; times the shortage of general registers; times that of vector registers
_WIDTH = 4.0  # instructions that a cycle issues
_LOAD, _STORE = OPCODES.index("load"), OPCODES.index("store")


def follow(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """The order of a block, (n,), by weights (PARTS, len(FEATURES))."""
    after = true_columns(problem.precedes)
    cycles = CYCLES[problem.opcode].astype(np.float64)
    readers = transposed(problem.values.reads, len(problem.values.stays))
    kinds = np.where(problem.opcode == _LOAD, 1, np.where(problem.opcode == _STORE, 2, 0))
    return _follow(
        problem.values, readers, after, cycles, kinds, problem.folded, np.array(problem.limits, float),
        np.ascontiguousarray(weights, float),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _follow(
    values: Values,
    readers: Rows,
    after: Rows,
    cycles: np.ndarray,
    kinds: np.ndarray,
    folded: np.ndarray,
    limits: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    n, n_values = len(cycles), len(values.stays)
    height = np.zeros(n)
    missing = np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):
        for k in after.items[after.offsets[i] : after.offsets[i + 1]]:
            height[i] = max(height[i], height[k])
            missing[k] += 1
        height[i] += cycles[i]
    highest = max(1.0, height.max()) if n else 1.0
    left = np.zeros(n_values, np.int64)  # readers of a value that are not emitted yet; one more if it stays
    for v in range(n_values):
        left[v] = readers.offsets[v + 1] - readers.offsets[v] + values.stays[v]
    unread = np.zeros(n, np.int64)  # operands of an instruction whose results are not there yet
    for i in range(n):
        for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]]:
            unread[i] += v < n
    live = np.zeros(2)
    for v in range(n, n_values):
        if left[v] and values.classes[v]:
            live[values.classes[v] - 1] += values.registers[v]
    slots = np.full(n_values, -1)
    arrivals = np.zeros(n)  # cycle in which the result is there
    order = np.zeros(n, np.int64)
    ready = np.zeros(n, np.int64)
    n_ready = 0
    for i in range(n):
        if not missing[i]:
            ready[n_ready] = i
            n_ready += 1
    feature, now = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
    last = -1
    for slot in range(n):
        for f in range(len(feature)):
            now[f] = weights[0, f]
            for kind in range(2):  # shortage: 0 where half of the registers are free, 1 where none is
                now[f] += min(1.0, max(0.0, 2.0 * live[kind] / limits[kind] - 1.0)) * weights[1 + kind, f]
        best, best_score = -1, -np.inf
        for r in range(n_ready):
            i = ready[r]
            feature[:] = 0.0
            feature[0] = (slot - i) / n
            feature[1] = i == last + 1
            feature[2] = height[i] / highest
            youngest, oldest, arrives = -1, slot, 0.0
            for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]]:
                if left[v] == 1 and values.classes[v]:
                    feature[2 + values.classes[v]] += values.registers[v]
                if v < n:
                    youngest, oldest = max(youngest, slots[v]), min(oldest, slots[v])
                    arrives = max(arrives, arrivals[v])
                    if v == last:
                        feature[17] = 1.0
            if values.classes[i] and (readers.offsets[i + 1] > readers.offsets[i] or values.stays[i]):
                feature[4 + values.classes[i]] = values.registers[i]
            if youngest >= 0:
                feature[7], feature[8] = 1.0 / (slot - youngest), 1.0 / (slot - oldest)
            feature[9] = min(1.0, max(0.0, arrives - slot / _WIDTH) / 10)
            feature[10], feature[11] = kinds[i] == 1, kinds[i] == 2
            nearest, partners, n_readers = n, 100, 0
            for k in readers.items[readers.offsets[i] : readers.offsets[i + 1]]:
                nearest, partners = min(nearest, k), min(partners, unread[k] - 1)
                n_readers += 1
            if n_readers:
                feature[12], feature[14] = np.log1p(n_readers), np.log1p(max(0, partners))
                feature[15] = (nearest - i) / n
            enabled = 0
            for k in after.items[after.offsets[i] : after.offsets[i + 1]]:
                enabled += missing[k] == 1
            feature[13] = np.log1p(enabled)
            feature[16] = folded[i]
            score = 0.0
            for f in range(len(feature)):
                score += now[f] * feature[f]
            if score > best_score or (score == best_score and i < best):
                best, best_score = i, score
        for r in range(n_ready):
            if ready[r] == best:
                n_ready -= 1
                ready[r] = ready[n_ready]
                break
        order[slot], slots[best], last = best, slot, best
        arrives = slot / _WIDTH
        for v in values.reads.items[values.reads.offsets[best] : values.reads.offsets[best + 1]]:
            left[v] -= 1
            if v < n:
                arrives = max(arrives, arrivals[v])
            if not left[v] and values.classes[v]:
                live[values.classes[v] - 1] -= values.registers[v]
        arrivals[best] = arrives + cycles[best]
        if left[best] and values.classes[best]:
            live[values.classes[best] - 1] += values.registers[best]
        for k in readers.items[readers.offsets[best] : readers.offsets[best + 1]]:
            unread[k] -= 1
        for k in after.items[after.offsets[best] : after.offsets[best + 1]]:
            missing[k] -= 1
            if not missing[k]:
                ready[n_ready] = k
                n_ready += 1
    return order
