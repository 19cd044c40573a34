"""Blocks' bytes -> their distinct instructions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pipeline.blocks.corpus.forms import LONGEST, Forms


def distinct_instructions(code: pa.BinaryArray) -> tuple[list[bytes], pa.ListArray]:
    """The distinct instructions of B blocks, sorted by their bytes, and for each block their numbers.

    Raises ValueError for a block that is not made of whole instructions.
    """
    _, bounds, values = code.buffers()
    offsets = np.frombuffer(bounds, np.int32)[code.offset : code.offset + len(code) + 1].astype(np.int64)
    data = np.frombuffer(values, np.uint8) if values is not None else np.zeros(0, np.uint8)
    forms = Forms()
    found = forms.decode(data, offsets[:-1], offsets[1:])
    if not found.whole.all():
        wrong = code[int(np.flatnonzero(~found.whole)[0])].as_py().hex()
        raise ValueError(f"a block is not made of whole instructions: {wrong}; cut the blocks anew")
    length = forms.facts["length"][found.form].astype(np.int64)
    block = np.repeat(np.arange(len(code)), np.diff(found.first))
    before = np.cumsum(length) - length
    start = before - before[found.first[block]] + offsets[block]
    key = np.zeros((len(length), LONGEST + 1), np.uint8)  # the bytes, then their number
    for k in range(LONGEST):
        long = length > k
        key[long, k] = data[start[long] + k]
    key[:, LONGEST] = length
    words = key.view(">u8").astype(np.uint64)  # big-endian: numbers sort as the bytes do
    pairs = words.view([("high", np.uint64), ("low", np.uint64)]).ravel()
    known, number = np.unique(pairs, return_inverse=True)
    rows = known.view(np.uint64).astype(">u8").view(np.uint8).reshape(-1, LONGEST + 1)
    encodings = [row[: row[LONGEST]].tobytes() for row in rows]
    return encodings, pa.ListArray.from_arrays(pa.array(found.first, pa.int32()), pa.array(number.ravel(), pa.int32()))
