"""Join the partitions of the corpus to its table of blocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from pipeline.corpus.partition import regrouped
from pipeline.corpus.tables import BLOCKS, PARTITIONS, SKIPPED
from pipeline.corpus.unique import REPETITIVE
from pipeline.lab import tables
from pipeline.lab.stages import options


def _pieces(partitions: list[Path]) -> Iterator[pa.Table]:
    """The row groups of all partitions, in ascending order of block_id."""
    for path in tqdm(partitions, "joining", unit="partition", file=sys.stderr):
        yield from tables.RowGroups(PARTITIONS, path)


def main(partitions: options.Tables, skipped_shards: options.Tables, blocks: options.Out, skipped: options.Out) -> None:
    """Write the partitions, in their order, as one table, row group by row group.

    The table is the same for any number of partitions. Raises ValueError if there is no block.
    """
    skipped_files = pd.concat([tables.read(SKIPPED, path) for path in skipped_shards], ignore_index=True)
    count = 0
    with tables.writing(BLOCKS, blocks, REPETITIVE) as append:
        for group in regrouped(_pieces(partitions)):
            append(group)
            count += group.num_rows
        if not count:
            reasons = "; ".join(f"{row.program}: {row.reason}" for row in skipped_files.head(5).itertuples())
            raise ValueError(
                f"no block in the whole corpus ({len(skipped_files)} files skipped: {reasons or 'there was no file'}); "
                "correct corpus.sources or corpus.compiler in params.yaml"
            )
        tables.write(skipped_files.sort_values(["source", "program"], ignore_index=True), SKIPPED, skipped)
