"""Blocks of all lengths, each with the order in which it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from learned_schedulers.blocks.problems.store import BlockStore
from pipeline.corpus.tables import SETS

if TYPE_CHECKING:  # the console command starts without it
    import pyarrow as pa


@dataclass(frozen=True)
class Sample:
    """B blocks of a store."""

    block_ids: pa.StringArray
    rows: np.ndarray  # (B,) int64, of the store
    orders: list[np.ndarray]  # for each block (n,) int16: GCC's index of the instruction in slot t
    targets: list[np.ndarray] | None = None  # the orders to learn, in the same numbering; None: GCC's orders


def load(path: Path, store: BlockStore) -> Sample:
    """The blocks of a table `sets`. Raises ValueError for a block that is not in the store."""
    from pipeline.lab import tables

    members = tables.arrow(SETS, path)
    ids, orders = members["block_id"].combine_chunks(), members["input_order"].combine_chunks()
    shown = np.split(orders.values.to_numpy(), orders.offsets.to_numpy()[1:-1])
    return Sample(ids, store.rows(ids), shown)
