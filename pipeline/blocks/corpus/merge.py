"""Runs of blocks of many shards -> the blocks of a partition, one row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.blocks.corpus.partition import groups_of
from pipeline.blocks.corpus.unique import REPETITIVE, first_of_each, joined
from pipeline.tables import SCHEMAS, RowGroups, TableError


def merged(shards: list[Path], partitions: int) -> Iterator[pa.Table]:
    """One row per block_id, sorted by it: the first by source and program, `occurrences` summed.

    shards: the files of one of so many partitions, one of each shard. The result does not depend on how the programs
    are distributed over shards. It needs memory for one of the partition's row groups.
    Raises TableError if a file is not a partition of a shard of stage ingest.
    """
    groups = groups_of(partitions)
    runs = []
    for path in shards:
        shard = RowGroups("partitions", path, repetitive=REPETITIVE)
        if len(shard) % groups:
            raise TableError(
                f"{path} does not consist of runs of {groups} row groups; delete the file and run the pipeline again"
            )
        runs += [(shard, start) for start in range(0, len(shard), groups)]
    for group in range(groups if runs else 0):
        yield first_of_each(joined([shard[start + group] for shard, start in runs])).cast(SCHEMAS["partitions"])
