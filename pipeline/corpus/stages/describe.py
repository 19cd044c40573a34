"""Statistics of the corpus: lengths, legal orders, dependencies."""

from __future__ import annotations

import sys

from tqdm import trange

from pipeline.corpus import composition
from pipeline.corpus.tables import BLOCKS, CORPUS, DAGS
from pipeline.lab import tables
from pipeline.lab.stages import options


def main(blocks: options.Blocks, dags: options.Dags, out: options.Out) -> None:
    """Count lengths, legal orders and dependencies by kind: per program, per source and in all.

    The stage reads one row group at a time: memory does not grow with the corpus.
    """
    code = tables.RowGroups(BLOCKS, blocks, composition.BLOCKS, ["source", "program"])
    graphs = tables.RowGroups(DAGS, dags, composition.DAGS)
    if len(code) != len(graphs):
        raise ValueError(f"{dags} and {blocks} hold different blocks; make the DAGs anew")
    numbers = trange(len(code), desc="Statistics", unit="row group", file=sys.stderr)
    tables.write(composition.describe((code[number], graphs[number]) for number in numbers), CORPUS, out)
