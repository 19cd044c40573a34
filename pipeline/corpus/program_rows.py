"""The blocks of one program -> rows of table `blocks`, one row for all blocks that are equal after masking."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from numba import njit

from learned_schedulers.blocks.read.cut import Blocks
from pipeline.corpus.tables import BLOCKS

_DIGEST_BYTES = 16


@njit(cache=True, nogil=True)
def _gather(code: np.ndarray, begin: np.ndarray, end: np.ndarray, joined: np.ndarray) -> None:
    """Fill `joined` with the ranges' bytes, one range after the other."""
    position = 0
    for k in range(len(begin)):
        for byte in range(begin[k], end[k]):  # a slice would take three seconds to compile
            joined[position] = code[byte]
            position += 1


def _joined_ranges(code: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The bytes of the ranges [begin[k], end[k]) of `code`, uint8, one range after the other."""
    joined = np.empty(int((end - begin).sum()), np.uint8)
    _gather(code, begin, end, joined)
    return joined


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


def table_of(source: str, program: str, compiler: str, relocatable: bool, sections: list[Blocks]) -> pa.Table:
    """The distinct blocks of one program, the first of those that are equal after masking."""
    lengths = np.concatenate([s.end - s.begin for s in sections])
    code = binary_array([_joined_ranges(s.code, s.begin, s.end) for s in sections], lengths)
    hidden = binary_array([_joined_ranges(s.masked, s.begin, s.end) for s in sections], lengths).dictionary_encode()
    numbers = hidden.indices.to_numpy()  # counted from 0 in the order of first appearance
    first_rows = np.flatnonzero(np.r_[-1, np.maximum.accumulate(numbers)][:-1] < numbers)
    section = np.repeat(np.arange(len(sections)), [len(s.begin) for s in sections])

    def encoded(names: list[str], index: np.ndarray) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(index.astype(np.int32), pa.array(names, pa.string()))

    zeros = np.zeros(len(first_rows))
    columns = {
        "block_id": block_ids(hidden.dictionary),
        "source": encoded([source], zeros),
        "program": encoded([program], zeros),
        "compiler": encoded([compiler], zeros),
        "section": encoded([s.section for s in sections], section[first_rows]),
        "address": np.concatenate([s.address for s in sections])[first_rows].astype(np.uint64),
        "relocatable": np.full(len(first_rows), relocatable),
        "n_instructions": np.concatenate([s.n_instructions for s in sections])[first_rows].astype(np.int16),
        "occurrences": np.bincount(numbers, minlength=len(first_rows)).astype(np.int32),
        "code": code.take(pa.array(first_rows)),
        "masked_code": hidden.dictionary,
    }
    return pa.table({name: columns[name] for name in BLOCKS.schema.names})
