"""Distinct instructions of all blocks, with what a network may know of them."""

from __future__ import annotations

import pyarrow as pa

from pipeline import tables
from pipeline.corpus.distinct import distinct_instructions
from pipeline.models.instructions import tabulate
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    blocks: options.Blocks,
    encodings: options.Out,
    instructions: options.Out,
) -> None:
    """Describe every distinct masked instruction once, and write each block as their numbers."""
    found = tables.arrow("blocks", blocks, ["block_id", "masked_code"])
    distinct, numbers = distinct_instructions(found["masked_code"].combine_chunks())
    tables.write(tabulate(distinct), "encodings", encodings)
    with tables.writing("instructions", instructions) as append:
        columns = [found["block_id"].combine_chunks(), numbers]
        append(pa.table(columns, schema=tables.SCHEMAS["instructions"]))


if __name__ == "__main__":
    run(main)
