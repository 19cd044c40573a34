"""Orders of a DAG: counting, sampling and checking them. A block's orders are linear extensions."""

from __future__ import annotations

import numpy as np


def count_legal_orders(predecessors: list[int]) -> int:
    """Number of topological orders, exactly: dynamic programming over down-sets.

    `predecessors[i]` is the bit set of what must come before i. Time grows with the number of
    down-sets, 2**n for independent instructions; meant for n <= 20.
    """
    layer = {0: 1}
    for _ in predecessors:
        following: dict[int, int] = {}
        for placed, ways in layer.items():
            for i, needed in enumerate(predecessors):
                if not placed >> i & 1 and not needed & ~placed:
                    grown = placed | 1 << i
                    following[grown] = following.get(grown, 0) + ways
        layer = following
    return sum(layer.values())


def random_legal_orders(precedes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One topological order for each DAG: every instruction draws a priority, the highest ready one goes next.

    Not uniform over orders, nor quite the usual "pick a random ready instruction": an instruction that
    has just become ready is likelier to go next than one that has lost before. POCSNet (section 4) says only that
    a topological order is sampled.

    precedes: (B, n, n) bool, [b, i, k] where i must come before k; acyclic.
    Returns (B, n) int16: order[b, t] is the instruction in slot t.
    """
    return greedy_orders(precedes, rng.random(precedes.shape[:2])[:, :, None].repeat(precedes.shape[1], 2))


def greedy_orders(precedes: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Fill the slots one by one, each with the ready instruction of the highest score there.

    precedes: (B, n, n) bool, acyclic; score: (B, n, n), [b, i, t] of instruction i in slot t.
    Returns (B, n) int16 orders; legal by construction. Ties go to the lower index.
    Raises ValueError where a DAG has a cycle.
    """
    size, n, _ = precedes.shape
    items = np.arange(size)
    waiting = precedes.sum(1)  # (B, n): predecessors not yet placed
    order = np.empty((size, n), np.int16)
    for slot in range(n):
        ready = waiting == 0
        if not ready.any(1).all():
            raise ValueError("a dependency graph has a cycle: there is no legal order")
        chosen = np.where(ready, score[:, :, slot], -np.inf).argmax(1)
        chosen = np.where(ready[items, chosen], chosen, ready.argmax(1))  # where every score is -inf or NaN
        order[:, slot] = chosen
        waiting = waiting - precedes[items, chosen]
        waiting[items, chosen] = n + 1  # never ready again
    return order


def slots_of(order: np.ndarray) -> np.ndarray:
    """Inverse permutations: slot[b, i] of instruction i from order[b, t]. (B, n) -> (B, n)."""
    return np.argsort(order, axis=-1).astype(np.int16)


def count_violations(precedes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Number of violated dependencies: pairs of `precedes` (B, n, n) that are the wrong way round in `order` (B, n)."""
    slot = slots_of(order)
    wrong = slot[:, :, None] > slot[:, None, :]
    return (precedes & wrong).sum((1, 2))


def adjacency(n: int, before: list[np.ndarray], after: list[np.ndarray]) -> np.ndarray:
    """Edge lists of blocks of n instructions as (B, n, n) bool: [b, i, k] where i must come before k."""
    precedes = np.zeros((len(before), n, n), bool)
    rows = np.repeat(np.arange(len(before)), [len(edges) for edges in before])
    if len(rows):
        precedes[rows, np.concatenate(before), np.concatenate(after)] = True
    return precedes
