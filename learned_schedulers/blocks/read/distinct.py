"""Blocks' bytes -> their distinct instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from learned_schedulers.blocks.read.forms import LONGEST, Decoded, Forms

if TYPE_CHECKING:  # the console command starts without it
    import pyarrow as pa


def distinct_instructions(code: pa.BinaryArray) -> tuple[list[bytes], pa.ListArray]:
    """The distinct instructions of B blocks, sorted by their bytes, and for each block their numbers.

    Raises ValueError for a block that is not made of whole instructions.
    """
    import pyarrow as pa

    _, bounds, values = code.buffers()
    offsets = np.frombuffer(bounds, np.int32)[code.offset : code.offset + len(code) + 1].astype(np.int64)
    code_bytes = np.frombuffer(values, np.uint8) if values is not None else np.zeros(0, np.uint8)
    forms = Forms()
    decoded = forms.decode(code_bytes, offsets[:-1], offsets[1:])
    if not decoded.whole.all():
        block = code[int(np.flatnonzero(~decoded.whole)[0])].as_py().hex()
        raise ValueError(f"a block is not made of whole instructions: {block}; cut the blocks anew")
    encodings, numbers = numbered(code_bytes, offsets[:-1], decoded, forms.facts)
    return encodings, pa.ListArray.from_arrays(pa.array(decoded.first, pa.int32()), pa.array(numbers))


def numbered(
    code: np.ndarray, begin: np.ndarray, decoded: Decoded, facts: np.ndarray
) -> tuple[list[bytes], np.ndarray]:
    """The distinct instructions of B blocks, sorted by their bytes, and the number of each of the N, (N,) int32.

    code: (bytes,) uint8; begin: (B,), offset of each block in `code`; decoded: the instructions of the blocks.
    """
    length = facts["length"][decoded.form].astype(np.int64)
    block = np.repeat(np.arange(len(begin)), np.diff(decoded.first))
    flat_start = np.cumsum(length) - length
    start = flat_start - flat_start[decoded.first[block]] + begin[block]
    key = np.zeros((len(length), LONGEST + 1), np.uint8)  # the bytes, then their number
    for k in range(LONGEST):
        has_byte = length > k
        key[has_byte, k] = code[start[has_byte] + k]
    key[:, LONGEST] = length
    high, low = key.view(">u8").T  # big-endian: numbers sort as the bytes do
    ascending = np.lexsort((low, high))  # six times as fast as `np.unique` of pairs
    is_new = np.ones(len(ascending), bool)
    is_new[1:] = (np.diff(high[ascending]) != 0) | (np.diff(low[ascending]) != 0)
    numbers = np.empty(len(ascending), np.int32)
    numbers[ascending] = np.cumsum(is_new) - 1
    rows = key[ascending[is_new]]
    return [row[:size].tobytes() for row, size in zip(rows, rows[:, LONGEST].tolist(), strict=True)], numbers
