"""Problems drawn at random: expressions over values from outside, with stores, folded instructions and both classes."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.before_allocation.problem import OPCODES, Problem


def drawn(n: int, seed: int, enters: int = 4, nearness: float = 0.3, memory: float = 0.1) -> Problem:
    """A problem of n instructions.

    nearness: of the geometric distance of operands; memory: share of pairs of instructions without result that keep
    their order.
    """
    rng = np.random.default_rng(seed)
    precedes = np.zeros((n, n), bool)
    operands: list[list[int]] = []
    entering: list[list[int]] = []
    results = np.stack([rng.choice([0, 1, 1, 2], n), rng.integers(1, 3, n)], 1)
    results[results[:, 0] == 0] = 0
    for i in range(n):
        near = [i - int(rng.geometric(nearness)) for _ in range(rng.integers(0, 4))]
        operands.append(sorted({k for k in near if k >= 0 and results[k, 0]}))
        precedes[operands[i], i] = True
        entering.append(sorted(set(rng.integers(0, enters, rng.integers(0, 2)).tolist())) if enters else [])
    without = results[:, 0] == 0
    precedes |= np.triu(rng.random((n, n)) < memory, 1) & without & without[:, None]
    entries = np.stack([rng.choice([1, 2], enters), rng.integers(0, 3, enters)], 1)
    return Problem.of(
        precedes,
        operands,
        entering,
        results,
        entries,
        rng.random(enters) < 0.3,
        (rng.random(n) < 0.1) & ~without,
        (rng.random(n) < 0.15) & ~without,
        rng.integers(0, len(OPCODES), n),
    )


def chain(n: int) -> Problem:
    """Each instruction reads the one before it."""
    precedes = np.eye(n, k=1, dtype=bool)
    operands = [[i - 1] if i else [] for i in range(n)]
    nothing = np.zeros(n, bool)
    return Problem.of(
        precedes, operands, [[]] * n, [(1, 1)] * n, [], np.zeros(0, bool), nothing, nothing, np.zeros(n, np.int64)
    )


def legal(problem: Problem, order: np.ndarray) -> bool:
    """Whether an order is a permutation that keeps the dependencies."""
    slots = np.argsort(order)
    complete = np.array_equal(np.sort(order), np.arange(len(problem.leaves)))
    return complete and bool((slots[:, None] < slots[None])[problem.precedes].all())


def excess(problem: Problem, order: np.ndarray) -> int:
    """Sum over slots and classes of the registers that are alive beyond the limits, in a legal order."""
    values, n = problem.values, len(order)
    begin, last = np.zeros(len(values.stays), int), np.full(len(values.stays), -1)
    for slot, i in enumerate(order.tolist()):
        begin[i], last[i] = slot, slot + 1  # a result that is not read needs registers in its own slot
        last[values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]]] = slot
    end = np.where(values.stays, n, last)
    slots = np.arange(n)
    alive = (begin[:, None] <= slots) & (slots < end[:, None])
    return sum(
        int(np.maximum((alive * values.registers[:, None])[values.classes == kind].sum(0) - limit, 0).sum())
        for kind, limit in zip((1, 2), problem.limits, strict=True)
    )
