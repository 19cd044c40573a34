"""Distinct instructions of all blocks, with what a network may know of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from pipeline import tables
from pipeline.blocks.corpus.distinct import distinct_instructions
from pipeline.blocks.problems.instructions import tabulate
from pipeline.blocks.problems.store import numbered
from pipeline.stages import options


def main(
    blocks: options.Blocks,
    encodings: options.Out,
    instructions: options.Out,
    following: Annotated[Path | None, typer.Option(help="Table following, where it is known.")] = None,
) -> None:
    """Describe every distinct masked instruction once, and write each block, and what follows it, as their numbers."""
    found = tables.arrow("blocks", blocks, ["block_id", "masked_code"])
    ids, code = found["block_id"].combine_chunks(), found["masked_code"].combine_chunks()
    if following is not None:
        code = pa.concat_arrays([code, _behind(ids, following)])
    distinct, numbers = distinct_instructions(code)
    tables.write(tabulate(distinct), "encodings", encodings)
    with tables.writing("instructions", instructions) as append:
        append(numbered(ids, numbers[: len(ids)], numbers[len(ids) :] if following is not None else None))


def _behind(ids: pa.StringArray, path: Path) -> pa.BinaryArray:
    """The instructions behind each block as if they were one. Raises ValueError where they are of other blocks."""
    table = tables.arrow("following", path)
    if not table["block_id"].combine_chunks().equals(ids):
        raise ValueError(f"{path} is of other blocks; make it anew")
    lists = table["code"].combine_chunks()
    _, offsets, data = lists.values.buffers()
    bounds = np.frombuffer(offsets, np.int32)[lists.offsets.to_numpy()]
    return pa.Array.from_buffers(pa.binary(), len(lists), [None, pa.py_buffer(bounds), data])
