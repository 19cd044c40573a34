"""Distinct instructions of all blocks, with everything that a network may see of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from learned_schedulers.blocks.problems.instructions import tabulate
from learned_schedulers.blocks.read.distinct import distinct_instructions
from pipeline.corpus.tables import BLOCKS, ENCODINGS, FOLLOWING, INSTRUCTIONS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import numbered


def main(
    blocks: options.Blocks,
    following: options.Following,
    encodings: options.Out,
    instructions: options.Out,
) -> None:
    """Describe every distinct masked instruction once; write each block, and the instructions after it, as numbers."""
    table = tables.arrow(BLOCKS, blocks, ["block_id", "masked_code"])
    ids, code = table["block_id"].combine_chunks(), table["masked_code"].combine_chunks()
    distinct, numbers = distinct_instructions(pa.concat_arrays([code, _after(ids, following)]))
    tables.write(tabulate(distinct), ENCODINGS, encodings)
    with tables.writing(INSTRUCTIONS, instructions) as append:
        append(numbered(ids, numbers[: len(ids)], numbers[len(ids) :]))


def _after(ids: pa.StringArray, path: Path) -> pa.BinaryArray:
    """The instructions after each block, joined. Raises ValueError if the table is of other blocks."""
    table = tables.arrow(FOLLOWING, path)
    if not table["block_id"].combine_chunks().equals(ids):
        raise ValueError(f"{path} is of other blocks; make it anew")
    lists = table["code"].combine_chunks()
    _, offsets, code = lists.values.buffers()
    bounds = np.frombuffer(offsets, np.int32)[lists.offsets.to_numpy()]
    return pa.Array.from_buffers(pa.binary(), len(lists), [None, pa.py_buffer(bounds), code])
