"""Blocks that are equal up to renaming, and whether GCC ordered them alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis.canonical import Canonical, canonical
from pipeline.analysis.ceiling import ceiling, twins
from pipeline.analysis.naming import shapes
from pipeline.blocks.problems import store
from pipeline.blocks.problems.sample import load
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    source: Annotated[str, typer.Option(help="Source whose blocks are compared with each other.")],
    blocks: options.Blocks,
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    training: Annotated[Path, typer.Option(help="Table sets, the blocks that twins are looked for in.")],
    sets: Annotated[list[Path], typer.Option(help="Tables sets, named {set}.parquet: whose twins.")],
    out: options.Out,
    twins_out: Annotated[Path, typer.Option(help="Table twins to write.")],
) -> None:
    """Group blocks by keys that know no order, and count the orders of each group."""
    held = store.load(instructions, dags)
    known = tables.read("blocks", blocks, ["block_id", "source", "n_instructions", "occurrences"])
    several = tables.read("dags", dags, ["n_legal_orders"]).n_legal_orders.to_numpy() > 1
    own = known.assign(several=several)[known.source == source]
    learned = load(training, held).rows
    tested = {path.stem: load(path, held).rows for path in sets}
    ceilings, found = [], []
    for notion, shape in shapes(tables.read("encodings", encodings, ["code"]).code.tolist()).items():
        every = canonical(held, np.arange(len(held.lengths)), shape)

        def part(rows: np.ndarray, every: Canonical = every) -> Canonical:
            return Canonical(every.key[rows], every.order[rows], every.colours[:0])

        ceilings.append(ceiling(notion, part(own.index.to_numpy()), own))
        for name, rows in tested.items():
            found.append(twins(notion, name, part(rows), part(learned), several[rows]))
    tables.write(pd.concat(ceilings), "ceiling", out)
    tables.write(pd.concat(found), "twins", twins_out)


if __name__ == "__main__":
    run(main)
