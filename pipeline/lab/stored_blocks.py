"""Blocks of the stages' tables, as the library's arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from learned_schedulers.blocks.problems.instructions import Encodings, encoded
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore, of_tables
from pipeline.corpus.tables import DAGS, ENCODINGS, INSTRUCTIONS, SETS
from pipeline.lab import tables


def numbered(block_ids: pa.Array, encodings: pa.ListArray, following: pa.ListArray | None = None) -> pa.Table:
    """Table `instructions`. Without `following`, no instructions behind the blocks are known."""
    if following is None:
        none = pa.array(np.zeros(len(block_ids) + 1, np.int32))
        following = pa.ListArray.from_arrays(none, pa.array([], pa.int32()))
    return pa.table([block_ids, encodings, following], schema=INSTRUCTIONS.schema)


def load_store(instructions: Path, dags: Path) -> BlockStore:
    """All blocks of tables `instructions` and `dags`. Raises ValueError if they are of different blocks."""
    return of_tables(tables.arrow(INSTRUCTIONS, instructions), tables.arrow(DAGS, dags))


def load_sample(path: Path, store: BlockStore) -> Sample:
    """The blocks of a table `sets`. Raises ValueError for a block that is not in the store."""
    members = tables.arrow(SETS, path)
    ids, orders = members["block_id"].combine_chunks(), members["input_order"].combine_chunks()
    shown = np.split(orders.values.to_numpy(), orders.offsets.to_numpy()[1:-1])
    return Sample(ids, store.rows(ids), shown)


def load_encodings(path: Path) -> Encodings:
    """The arrays of table `encodings`."""
    return encoded(tables.read(ENCODINGS, path))
