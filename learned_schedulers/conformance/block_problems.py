"""Batches of made-up blocks, in which only dependencies and latencies tell instructions apart."""

from __future__ import annotations

from functools import cache

import numpy as np

from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.kernel_arrays import seal

_BLOCKS = 6  # of a batch
_LATENCIES = 6  # 1 to 5 cycles
_CONFLICT = 1  # any kind: only whether two instructions conflict is told


@cache
def batches() -> dict[str, Problems]:
    """Batches by their names: without and with dependencies, one chain, a single instruction, 2 to 40 instructions."""
    rng = np.random.default_rng(7)
    drawn = {
        "one instruction": batch(rng, 1, 0.0),
        "independent": batch(rng, 8, 0.0),
        "chain": batch(rng, 12, 1.0),
        **{f"drawn, {n} instructions": batch(rng, n, 0.3) for n in (2, 5, 9, 20, 40)},
    }
    seal(list(drawn.values()))
    return drawn


def batch(rng: np.random.Generator, n: int, density: float) -> Problems:
    """Blocks of n instructions, any two of which conflict with this probability."""
    conflicts = np.triu(rng.random((_BLOCKS, n, n)) < density, 1)
    return Problems(
        precedes=np.stack([reduced(row) for row in conflicts]),
        latencies=rng.integers(1, _LATENCIES, (_BLOCKS, n)).astype(np.int16),
        conflicts=(conflicts * _CONFLICT).astype(np.uint16),
        instructions=rng.integers(0, 100, (_BLOCKS, n)).astype(np.int32),
    )


def reduced(before: np.ndarray) -> np.ndarray:
    """Transitive reduction of a relation, (n, n) bool, in which i comes before k only if i < k."""
    reach = before.copy()
    for k in range(len(before)):
        reach |= reach[:, k : k + 1] & reach[k]
    return before & ~((reach.astype(np.int64) @ reach.astype(np.int64)) > 0)
