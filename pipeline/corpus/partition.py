"""Partitions: ranges of block_id, so that blocks are de-duplicated range by range, in jobs that do not meet.

Equal blocks have equal ids, so they are in the same partition. A partition is written in a few row groups by the next
bits of block_id: to merge runs, one row group of each is in memory, and never a whole partition. Every shard has a file
for every partition: every partition's job would read the head of one file with all of them, and its digest, so the time
would grow with the square of the number of partitions (a million blocks in 256 partitions: 20 seconds, and not 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.corpus.tables import BLOCKS, PARTITIONS
from pipeline.corpus.unique import GROUP_BITS, REPETITIVE, first_of_each, id_words, joined
from pipeline.lab.tables import RowGroups, TableError

_MOST_GROUPS = 16  # row groups of a run in a partition
_GROUPS_OF_A_RUN = 512  # about as many; were they more, each would have less than some hundred rows
MOST_PARTITIONS = 4096  # 16 bits of block_id tell partitions and their row groups apart
_BITS = 16
_MOST_ROWS = 1 << 15  # of a row group of table `blocks`: some 5 MB, and stages hold a few of them
_TABLE_GROUPS = 1 << GROUP_BITS


class TooManyPartitions(ValueError):
    """More partitions than the bits that tell them apart."""


def _leading(table: pa.Table, bits: int) -> np.ndarray:
    """The first bits of each row's block_id, (n,) uint64."""
    return id_words(table)[:, 0] >> np.uint64(64 - bits)


def groups_of(partitions: int) -> int:
    """Row groups of a run in each of so many partitions."""
    return max(1, min(_MOST_GROUPS, _GROUPS_OF_A_RUN // partitions))


def divided(run: pa.Table, partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """The row groups of a run, sorted by block_id, each with the number of its partition, ascending.

    Cast to schema `blocks`. Raises TooManyPartitions above MOST_PARTITIONS.
    """
    if partitions > MOST_PARTITIONS:
        raise TooManyPartitions(
            f"{partitions} partitions are more than {MOST_PARTITIONS}; give --set-scatter partitions a smaller number"
        )
    of_each = groups_of(partitions)
    groups = partitions * of_each
    group = (_leading(run, _BITS) * np.uint64(groups)) >> np.uint64(_BITS)  # ascends with block_id
    bounds = np.searchsorted(group, np.arange(groups + 1, dtype=np.uint64))
    for number, (low, high) in enumerate(pairwise(bounds.tolist())):
        yield number // of_each, run.slice(low, high - low).cast(BLOCKS.schema)


def regrouped(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Row groups of table `blocks` from pieces of it in ascending order of block_id, of any size.

    A row group ends where the first bits of block_id change, and at _MOST_ROWS; so it does not depend on the pieces.
    Each value of the first bits has at least one row group, which may be empty.
    """
    pending: list[pa.Table] = []
    n_pending, current = 0, 0
    empty = BLOCKS.schema.empty_table()

    def whole() -> pa.Table:
        return pa.concat_tables([empty, *pending]).combine_chunks()

    for piece in pieces:
        bounds = np.searchsorted(_leading(piece, GROUP_BITS), np.arange(_TABLE_GROUPS + 1, dtype=np.uint64)).tolist()
        for number in range(_TABLE_GROUPS):
            low, high = bounds[number : number + 2]
            if low == high:
                continue
            while current < number:
                yield whole()
                pending, n_pending, current = [], 0, current + 1
            while low < high:
                if n_pending == _MOST_ROWS:
                    yield whole()
                    pending, n_pending = [], 0
                rows = min(high - low, _MOST_ROWS - n_pending)
                pending.append(piece.slice(low, rows))
                n_pending, low = n_pending + rows, low + rows
    for _ in range(current, _TABLE_GROUPS):
        yield whole()
        pending = []


def merged(shards: list[Path], partitions: int) -> Iterator[pa.Table]:
    """One row per block_id, sorted by it: the first by source and program, `occurrences` summed.

    shards: the files of one of so many partitions, one of each shard. The result does not depend on how the programs
    are distributed over shards. It needs memory for one of the partition's row groups.
    Raises TableError if a file is not a partition of a shard of stage ingest.
    """
    groups = groups_of(partitions)
    runs = []
    for path in shards:
        shard = RowGroups(PARTITIONS, path, repetitive=REPETITIVE)
        if len(shard) % groups:
            raise TableError(
                f"{path} does not consist of runs of {groups} row groups; delete the file and run the pipeline again"
            )
        runs += [(shard, start) for start in range(0, len(shard), groups)]
    for group in range(groups if runs else 0):
        yield first_of_each(joined([shard[start + group] for shard, start in runs])).cast(PARTITIONS.schema)
