"""Keep one of the blocks of a partition that are equal after masking."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from tqdm import tqdm

from pipeline.corpus.partition import groups_of, merged
from pipeline.corpus.tables import PARTITIONS
from pipeline.corpus.unique import REPETITIVE
from pipeline.lab import tables
from pipeline.lab.stages import options


def main(
    shards: options.Tables,
    partitions: Annotated[int, typer.Option(min=1, help="Number of partitions of the corpus; this is one of them.")],
    blocks: options.Out,
) -> None:
    """Join a partition's blocks of all shards and keep one of those that are equal after masking.

    The first one by source, program, section and address stays; `occurrences` counts all.
    """
    with tables.writing(PARTITIONS, blocks, REPETITIVE) as append:
        for group in tqdm(
            merged(shards, partitions), "merging", groups_of(partitions), unit="row group", file=sys.stderr
        ):
            append(group)
