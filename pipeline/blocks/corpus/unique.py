"""Blocks that are equal after masking become one: in a shard, in the corpus.

Tables here are those of schema `blocks`, with its repetitive strings dictionary-encoded. A run of
rows sorted by block_id is written as row groups by the first bits of block_id, the same number of
groups for every run: to merge runs it takes one group of each at a time, never a whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from pipeline.tables import SCHEMAS

GROUP_BITS = 6
GROUPS = 1 << GROUP_BITS  # row groups of a run
REPETITIVE = ["source", "program", "compiler", "section"]
_DIGITS = 32  # of a block_id


def _id_words(table: pa.Table) -> np.ndarray:
    """Block ids as numbers of the same order: (n, 2), high and low word."""
    column = table["block_id"].combine_chunks()
    _, _, text = column.buffers()
    begin = column.offset * _DIGITS
    digests = bytes.fromhex(text[begin : begin + len(column) * _DIGITS].to_pybytes().decode())
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)


def _ranks(column: pa.ChunkedArray) -> np.ndarray:
    """Numbers in the order of a dictionary-encoded column's strings."""
    encoded = column.unify_dictionaries().combine_chunks()
    names = encoded.dictionary.to_pylist()
    rank = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([rank[name] for name in names], np.int64)[encoded.indices.to_numpy()]


def first_of_each(table: pa.Table) -> pa.Table:
    """One row per block_id, sorted by it: the first by source and program, `occurrences` summed.

    A program has one row per block_id at most, so the order of the rows does not matter.
    """
    if table.num_rows == 0:
        return table
    words = _id_words(table)
    order = np.lexsort((_ranks(table["program"]), _ranks(table["source"]), words[:, 1], words[:, 0]))
    words = words[order]
    first = np.flatnonzero(np.r_[True, (words[1:] != words[:-1]).any(1)])
    occurrences = np.add.reduceat(table["occurrences"].to_numpy()[order], first)
    chosen = table.take(pa.array(order[first]))
    place = chosen.schema.get_field_index("occurrences")
    return chosen.set_column(place, "occurrences", pa.array(occurrences, pa.int32()))


def groups(table: pa.Table) -> Iterator[pa.Table]:
    """The row groups of a run, as schema `blocks` has them: by the first bits of block_id."""
    bounds = np.searchsorted(_id_words(table)[:, 0] >> np.uint64(64 - GROUP_BITS), np.arange(GROUPS + 1))
    for low, high in pairwise(bounds.tolist()):
        yield table.slice(low, high - low).cast(SCHEMAS["blocks"])


def joined(tables: list[pa.Table]) -> pa.Table:
    """The rows of several tables."""
    return pa.concat_tables(tables).unify_dictionaries()
