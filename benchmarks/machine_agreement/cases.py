"""The compared cases: real blocks in random legal orders, and random sequences of real instructions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.problems.store import BlockStore


@dataclass(frozen=True)
class Cases:
    """B blocks or sequences of n instructions, and K orders of each."""

    instructions: np.ndarray  # (B, n) int, rows of the processor's table
    orders: np.ndarray  # (B, K, n) int

    @property
    def shown(self) -> np.ndarray:
        """(B, K, n) the instruction in each slot."""
        return np.take_along_axis(self.instructions[:, None], self.orders.astype(np.int64), 2)


def draw(store: BlockStore, rows: np.ndarray, blocks: int, seed: int) -> np.ndarray:
    """Up to `blocks` of these rows that have several legal orders, sorted."""
    rows = rows[store.has_choice(rows)]
    return np.sort(np.random.default_rng(seed).choice(rows, min(blocks, len(rows)), replace=False))


def modelled(store: BlockStore, rows: np.ndarray, instructions: np.ndarray, is_known: np.ndarray) -> np.ndarray:
    """The blocks of which the model knows every instruction.

    instructions: (U,) rows of table encodings, sorted, of which the processor's table is made; is_known: (U,) bool.
    """
    lengths = store.lengths[rows]
    all_known = is_known[np.searchsorted(instructions, store.instructions_of(rows))]
    starts = np.r_[0, np.cumsum(lengths)[:-1]]
    return rows[np.logical_and.reduceat(all_known, starts)]


def of_blocks(store: BlockStore, rows: np.ndarray, instructions: np.ndarray, orders: int, seed: int) -> list[Cases]:
    """Random legal orders (dag/sampling.py, `random_ready`) of these blocks, shortest first. instructions: (U,)."""
    rng = np.random.default_rng(seed)
    cases = []
    for n in np.unique(store.lengths[rows]):
        problems = store.as_emitted(rows[store.lengths[rows] == n])
        drawn = np.stack([random_ready(problems.precedes, rng) for _ in range(orders)], axis=1)
        cases.append(Cases(np.searchsorted(instructions, problems.instructions), drawn))
    return cases


def at_random(
    forms: np.ndarray, is_known: np.ndarray, sequences: int, lengths: tuple[int, int], orders: int, seed: int
) -> list[Cases]:
    """Sequences of instructions that the model knows, shortest first, and random permutations of each.

    Every form is as likely as any other, then every instruction of the form: half of real instructions are moves. Every
    length between the two is as likely as any other. forms: (U,) int; is_known: (U,) bool.
    """
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(is_known)
    by_form = [rows[forms[rows] == form] for form in np.unique(forms[rows])]
    drawn = np.unique(rng.integers(lengths[0], lengths[1] + 1, sequences), return_counts=True)
    cases = []
    for n, count in zip(*drawn, strict=True):
        chosen = rng.integers(0, len(by_form), (count, n))
        numbers = np.array([[rng.choice(by_form[form]) for form in line] for line in chosen])
        permutations = rng.permuted(np.broadcast_to(np.arange(n), (count, orders, n)), axis=2)
        cases.append(Cases(numbers, permutations))
    return cases
