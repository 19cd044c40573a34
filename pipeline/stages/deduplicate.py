"""Keep one of the blocks that are equal after masking."""

from __future__ import annotations

import sys

import pandas as pd
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.corpus.merge import merged
from pipeline.blocks.corpus.unique import GROUPS, REPETITIVE
from pipeline.stages import options


def main(shards: options.Tables, skipped_shards: options.Tables, blocks: options.Out, skipped: options.Out) -> None:
    """Join the shards and keep one of the blocks that are equal after masking.

    The first one by source, program, section and address stays; `occurrences` counts all.
    """
    skipped_files = pd.concat([tables.read("skipped", path) for path in skipped_shards], ignore_index=True)
    count = 0
    with tables.writing("blocks", blocks, REPETITIVE) as append:
        for group in tqdm(merged(shards), "merging", GROUPS, unit="row group", file=sys.stderr):
            append(group)
            count += group.num_rows
        if not count:
            reasons = "; ".join(f"{row.program}: {row.reason}" for row in skipped_files.head(5).itertuples())
            raise ValueError(
                f"no block in the whole corpus ({len(skipped_files)} files skipped: {reasons or 'there was no file'}); "
                "correct corpus.sources or corpus.compiler in params.yaml"
            )
        tables.write(skipped_files.sort_values(["source", "program"], ignore_index=True), "skipped", skipped)
