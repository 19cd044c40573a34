"""Blocks that are equal after masking become one: in a file, in a shard, in the corpus.

Tables here are those of schema `blocks`, with its repetitive strings dictionary-encoded. A run of
rows sorted by block_id is written as row groups by the first bits of block_id, the same number of
groups for every run: to merge runs it takes one group of each at a time, never a whole table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numba import njit

from pipeline.blocks.corpus.cut import Blocks
from pipeline.tables import SCHEMAS

GROUP_BITS = 6
GROUPS = 1 << GROUP_BITS  # row groups of a run
REPETITIVE = ["source", "program", "compiler", "section"]
_DIGEST_BYTES = 16


@njit(cache=True, nogil=True)
def _gather(code: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The ranges' bytes, one range after the other."""
    out = np.empty((end - begin).sum(), np.uint8)
    at = 0
    for k in range(len(begin)):
        size = end[k] - begin[k]
        out[at : at + size] = code[begin[k] : end[k]]
        at += size
    return out


def binary_array(pieces: list[np.ndarray], lengths: np.ndarray) -> pa.BinaryArray:
    """Arrow binary values of `lengths` bytes each, cut from the pieces, uint8, joined."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    values = np.concatenate(pieces) if len(pieces) != 1 else pieces[0]
    return pa.Array.from_buffers(pa.binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def block_ids(masked_code: pa.BinaryArray) -> pa.StringArray:
    """32 hex digits each: BLAKE2b of the masked bytes."""
    blake2b = hashlib.blake2b
    digests = b"".join([blake2b(code, digest_size=_DIGEST_BYTES).digest() for code in masked_code.to_pylist()])
    offsets = np.arange(len(masked_code) + 1, dtype=np.int32) * 2 * _DIGEST_BYTES
    text = pa.py_buffer(digests.hex().encode())
    return pa.Array.from_buffers(pa.string(), len(masked_code), [None, pa.py_buffer(offsets), text])


def _id_words(table: pa.Table) -> np.ndarray:
    """Block ids as numbers of the same order: (n, 2), high and low word."""
    column = table["block_id"].combine_chunks()
    _, _, text = column.buffers()
    begin = column.offset * 2 * _DIGEST_BYTES
    digests = bytes.fromhex(text[begin : begin + len(column) * 2 * _DIGEST_BYTES].to_pybytes().decode())
    return np.frombuffer(digests, ">u8").reshape(-1, 2).astype(np.uint64)


def table_of(source: str, program: str, compiler: str, relocatable: bool, sections: list[Blocks]) -> pa.Table:
    """The distinct blocks of one program, the first of those that are equal after masking."""
    lengths = np.concatenate([s.end - s.begin for s in sections])
    code = binary_array([_gather(s.code, s.begin, s.end) for s in sections], lengths)
    hidden = binary_array([_gather(s.masked, s.begin, s.end) for s in sections], lengths).dictionary_encode()
    number = hidden.indices.to_numpy()  # counted from 0 in the order of first appearance
    first = np.flatnonzero(np.r_[-1, np.maximum.accumulate(number)][:-1] < number)
    section = np.repeat(np.arange(len(sections)), [len(s.begin) for s in sections])

    def encoded(names: list[str], index: np.ndarray) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(index.astype(np.int32), pa.array(names, pa.string()))

    same = np.zeros(len(first))
    columns = {
        "block_id": block_ids(hidden.dictionary),
        "source": encoded([source], same),
        "program": encoded([program], same),
        "compiler": encoded([compiler], same),
        "section": encoded([s.section for s in sections], section[first]),
        "address": np.concatenate([s.address for s in sections])[first].astype(np.uint64),
        "relocatable": np.full(len(first), relocatable),
        "n_instructions": np.concatenate([s.n_instructions for s in sections])[first].astype(np.int16),
        "occurrences": np.bincount(number, minlength=len(first)).astype(np.int32),
        "code": code.take(pa.array(first)),
        "masked_code": hidden.dictionary,
    }
    return pa.table({name: columns[name] for name in SCHEMAS["blocks"].names})


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
