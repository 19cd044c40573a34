"""Blocks that are equal up to renaming, and whether GCC ordered them alike."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis.canonical import canonical
from pipeline.analysis.ceiling import ceiling, twins
from pipeline.analysis.naming import shapes
from pipeline.blocks.problems import store
from pipeline.blocks.problems.sample import load
from pipeline.stages import options


def main(
    source: Annotated[str, typer.Option(help="Source whose blocks are compared with each other.")],
    blocks: options.Blocks,
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    training: options.Training,
    sets: options.Tables,
    out: options.Out,
    twins_out: options.Out,
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
        ceilings.append(ceiling(notion, every.of(own.index.to_numpy()), own))
        for name, rows in tested.items():
            found.append(twins(notion, name, every.of(rows), every.of(learned), several[rows]))
    tables.write(pd.concat(ceilings), "ceiling", out)
    tables.write(pd.concat(found), "twins", twins_out)
