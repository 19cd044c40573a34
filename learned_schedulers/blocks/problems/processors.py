"""Which blocks of a store a processor's model supports."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.problems.store import BlockStore
from learned_schedulers.blocks.processors.costs import Processor


def unknown_instructions(store: BlockStore, rows: np.ndarray, chip: Processor) -> np.ndarray:
    """The first instruction of each block that a processor's model does not support, -1 for none; (B,) int64.

    rows: (B,), of the store. Instructions are rows of the processor's table.
    """
    places = np.r_[np.flatnonzero(~chip.is_supported[store.instructions]), len(store.instructions)]
    first = places[np.searchsorted(places, store.first[rows])]
    inside = first < store.first[rows + 1]
    return np.where(inside, store.instructions[np.where(inside, first, 0)], -1).astype(np.int64)


def supported(store: BlockStore, rows: np.ndarray, chip: Processor) -> np.ndarray:
    """Whether a processor's model supports all instructions of each block, (B,) bool. rows: (B,), of the store."""
    return unknown_instructions(store, rows, chip) < 0
