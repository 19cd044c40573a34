"""Statistics of the corpus: lengths, legal orders, dependencies."""

from __future__ import annotations

import sys

from tqdm import trange

from pipeline import tables
from pipeline.analysis.composition import BLOCKS, DAGS, describe
from pipeline.stages import options


def main(blocks: options.Blocks, dags: options.Dags, out: options.Out) -> None:
    """Count lengths, legal orders and dependencies by kind: per program, per source and in all.

    The stage reads one row group at a time: memory does not grow with the corpus.
    """
    code = tables.RowGroups("blocks", blocks, BLOCKS, ["source", "program"])
    graphs = tables.RowGroups("dags", dags, DAGS)
    if len(code) != len(graphs):
        raise ValueError(f"{dags} and {blocks} hold different blocks; make the DAGs anew")
    numbers = trange(len(code), desc="Statistics", unit="row group", file=sys.stderr)
    tables.write(describe((code[number], graphs[number]) for number in numbers), "corpus", out)
