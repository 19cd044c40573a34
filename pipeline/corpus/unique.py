"""De-duplication: blocks that are equal after masking become one row, in a shard and in the corpus.

The tables here have the schema `blocks`, with its repetitive strings dictionary-encoded. A run is a table sorted by
block_id, with one row per block. Table `blocks` is written in row groups by the first bits of block_id.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from pipeline.corpus.tables import BLOCKS

GROUP_BITS = 6
GROUPS = 1 << GROUP_BITS  # row groups of a small table
REPETITIVE = ["source", "program", "compiler", "section"]
_DIGITS = 32  # of a block_id


def id_words(table: pa.Table) -> np.ndarray:
    """Block ids as numbers that sort like the ids: (n, 2) uint64, high and low word."""
    column = table["block_id"].combine_chunks()
    _, _, text = column.buffers()
    begin = column.offset * _DIGITS
    digests = bytes.fromhex(text[begin : begin + len(column) * _DIGITS].to_pybytes().decode())
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    """The rank of each row's string among the strings of a dictionary-encoded column, int64."""
    encoded = column.unify_dictionaries().combine_chunks()
    names = encoded.dictionary.to_pylist()
    rank = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([rank[name] for name in names], np.int64)[encoded.indices.to_numpy()]


def first_of_each(table: pa.Table) -> pa.Table:
    """One row per block_id, sorted by it: the first by source and program, `occurrences` summed.

    Of rows that are of one program the first one stays: a long file comes in pieces, in their order.
    """
    if table.num_rows == 0:
        return table
    words = id_words(table)
    ascending = np.lexsort((_ranks(table["program"]), _ranks(table["source"]), words[:, 1], words[:, 0]))
    words = words[ascending]
    group_starts = np.flatnonzero(np.r_[True, (words[1:] != words[:-1]).any(1)])
    occurrences = np.add.reduceat(table["occurrences"].to_numpy()[ascending], group_starts)
    first_rows = table.take(pa.array(ascending[group_starts]))
    column_index = first_rows.schema.get_field_index("occurrences")
    return first_rows.set_column(column_index, "occurrences", pa.array(occurrences, pa.int32()))


def groups(table: pa.Table) -> Iterator[pa.Table]:
    """The row groups of a table sorted by block_id, by its first bits, cast to schema `blocks`."""
    bounds = np.searchsorted(id_words(table)[:, 0] >> np.uint64(64 - GROUP_BITS), np.arange(GROUPS + 1))
    for low, high in pairwise(bounds.tolist()):
        yield table.slice(low, high - low).cast(BLOCKS.schema)


def joined(tables: list[pa.Table]) -> pa.Table:
    """The rows of several tables."""
    return pa.concat_tables(tables).unify_dictionaries()
