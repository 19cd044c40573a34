"""Depth first from what is not read in the block, the operand that needs more registers first.

Sethi and Ullman 1970, "The generation of optimal code for arithmetic expressions": for a tree whose results need a
register each, no order needs fewer registers. Here the numbers are generalised: a result needs any number of registers,
a folded instruction holds what its operands hold, and the operand with the largest difference of what it needs and what
it holds comes first. Deviations for DAGs: an instruction that several others read is computed at its first reader, and
its number counts at each of them, as if it were computed again; and before an instruction comes, depth first too, what
must precede it without being an operand. Values that enter count nothing, and the two classes are added.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.before_allocation.rows import true_columns


def order(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """The order, (n,) int64; nothing is drawn."""
    n = len(problem.leaves)
    needs, holds = numbers(problem)

    def most_first(i: int) -> tuple[int, int]:
        return holds[i] - needs[i], i

    offsets, before = true_columns(problem.precedes.T)
    is_read = np.zeros(n, bool)
    children: list[list[int]] = []
    for i, operands in enumerate(problem.operands):
        is_read[list(operands)] = True
        others = before[offsets[i] : offsets[i + 1]].tolist()
        if operands:
            others = [k for k in others if k not in operands]
        children.append([*others, *sorted(operands, key=most_first)])
    slots: list[int] = []
    begun, listed = [False] * n, [False] * n
    for root in sorted(np.flatnonzero(~is_read).tolist(), key=most_first):
        stack = [root]
        while stack:
            i = stack.pop()
            if begun[i]:
                if not listed[i]:
                    listed[i] = True
                    slots.append(i)
                continue
            begun[i] = True
            stack.append(i)
            stack.extend(k for k in reversed(children[i]) if not begun[k])
    return np.array(slots, np.int64)


def numbers(problem: Problem) -> tuple[list[int], list[int]]:
    """Registers that each instruction needs with all that it reads, and that it holds afterwards."""
    needs: list[int] = []
    holds: list[int] = []
    for i, operands in enumerate(problem.operands):
        held_before, most = 0, 0
        for k in sorted(operands, key=lambda k: holds[k] - needs[k]):
            most = max(most, held_before + needs[k])
            held_before += holds[k]
        holds.append(held_before if problem.folded[i] else int(problem.values.registers[i]))
        needs.append(max(most, holds[i]))
    return needs, holds
