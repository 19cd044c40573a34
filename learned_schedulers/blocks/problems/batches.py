"""Blocks of all lengths in batches of one length each, so that no block is padded."""

from __future__ import annotations

import numpy as np


def by_length(lengths: np.ndarray, instructions: int, rng: np.random.Generator | None = None) -> list[np.ndarray]:
    """Items 0 to B - 1 in batches of one length and about `instructions` instructions; shuffled if `rng` is given.

    lengths: (B,). Every item is in exactly one batch.
    """
    batches = []
    for n in np.unique(lengths):
        items = np.flatnonzero(lengths == n)
        if rng is not None:
            items = rng.permutation(items)
        size = max(1, instructions // int(n))
        batches += [items[start : start + size] for start in range(0, len(items), size)]
    if rng is not None:
        batches = [batches[k] for k in rng.permutation(len(batches))]
    return batches
