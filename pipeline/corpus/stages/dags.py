"""Dependency DAGs of all blocks."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa
from tqdm import tqdm

from learned_schedulers.blocks.dag.bulk import COLUMNS, Builder
from pipeline.corpus.tables import BLOCKS, DAGS
from pipeline.lab import tables
from pipeline.lab.stages import options


def _in_order(make: Callable[[pa.Table], pa.Table], pieces: Iterable[pa.Table], cores: int) -> Iterator[pa.Table]:
    """Yield make(piece) of each piece, in order, by several threads; at most two pieces a thread are in memory."""
    with ThreadPoolExecutor(cores) as pool:
        pending: deque[Future[pa.Table]] = deque()
        for piece in pieces:
            pending.append(pool.submit(make, piece))
            if len(pending) > 2 * cores:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def main(
    dependencies: options.DependencyMode, blocks: options.Blocks, out: options.Out, cores: options.Cores = 1
) -> None:
    """Build the dependency DAG of every block, and count its legal orders."""
    groups = tables.RowGroups(BLOCKS, blocks, COLUMNS)
    builder = Builder(dependencies)
    with (
        tables.writing(DAGS, out) as append,
        tqdm(desc="DAGs", total=groups.n_rows, unit="block", unit_scale=True, file=sys.stderr) as progress,
    ):
        for dags in _in_order(builder.build, groups, cores):
            append(dags)
            progress.update(dags.num_rows)
