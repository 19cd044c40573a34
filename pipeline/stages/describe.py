"""What the corpus is like: lengths, legal orders, dependencies."""

from __future__ import annotations

import sys

from tqdm import trange

from pipeline import tables
from pipeline.analysis import composition as corpus
from pipeline.stages import options


def main(
    blocks: options.Blocks,
    dags: options.Dags,
    out: options.Out,
) -> None:
    """Count lengths, legal orders and dependencies by kind, per program, per source and in all.

    Reads one row group at a time: memory does not grow with the corpus.
    """
    code = tables.RowGroups("blocks", blocks, corpus.BLOCKS, ["source", "program"])
    graphs = tables.RowGroups("dags", dags, corpus.DAGS)
    if len(code) != len(graphs):
        raise ValueError(f"{dags} and {blocks} are not of the same blocks; make the DAGs anew")
    numbers = trange(len(code), desc="Statistics", unit="row group", file=sys.stderr)
    tables.write(corpus.describe((code[number], graphs[number]) for number in numbers), "corpus", out)
