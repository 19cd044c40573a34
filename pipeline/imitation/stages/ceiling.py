"""Blocks that are equal up to renaming, and whether GCC ordered them alike."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from pipeline.corpus.tables import BLOCKS, DAGS, ENCODINGS
from pipeline.imitation.canonical import canonical
from pipeline.imitation.ceiling import ceiling, twins
from pipeline.imitation.naming import shapes
from pipeline.imitation.tables import CEILING, TWINS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_sample, load_store


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
    """Group blocks by keys that do not depend on an order, and count the orders of each group."""
    block_store = load_store(instructions, dags)
    described = tables.read(BLOCKS, blocks, ["block_id", "source", "n_instructions", "occurrences"])
    several = tables.read(DAGS, dags, ["n_legal_orders"]).n_legal_orders.to_numpy() > 1
    of_source = described.assign(several=several)[described.source == source]
    learned = load_sample(training, block_store).rows
    tested = {path.stem: load_sample(path, block_store).rows for path in sets}
    ceilings, twin_rows = [], []
    for notion, shape in shapes(tables.read(ENCODINGS, encodings, ["code"]).code.tolist()).items():
        corpus = canonical(block_store, np.arange(len(block_store.lengths)), shape)
        ceilings.append(ceiling(notion, corpus.of(of_source.index.to_numpy()), of_source))
        for name, rows in tested.items():
            twin_rows.append(twins(notion, name, corpus.of(rows), corpus.of(learned), several[rows]))
    tables.write(pd.concat(ceilings), CEILING, out)
    tables.write(pd.concat(twin_rows), TWINS, twins_out)
