"""A named set of blocks of all lengths, each with its stored input order."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
import typer

from pipeline import tables
from pipeline.blocks.corpus.sets import members
from pipeline.blocks.dag.sampling import SAMPLERS
from pipeline.blocks.problems import store
from pipeline.blocks.problems.batches import by_length
from pipeline.config.dags import Sampler
from pipeline.config.section import section
from pipeline.config.sets import BlockSet
from pipeline.stages import options
from pipeline.stages.command import run

_INSTRUCTIONS = 1 << 16  # of a batch


def main(
    name: Annotated[str, typer.Option(help="Name of the set in params.yaml.")],
    settings: options.Settings,
    seed: options.Seed,
    sampler: options.Sampler,
    blocks: options.Blocks,
    instructions: options.Instructions,
    dags: options.Dags,
    stored: Annotated[str, typer.Option(help="Table splits of held-out sets, table input_orders; empty for none.")],
    out: options.Out,
) -> None:
    """Choose the blocks of a set and fix, for each, the random legal order in which schedulers see it.

    POCSNet's test blocks, split `test` of table splits, are in sets that are `held_out` alone, in their order from
    there. Sets whose input is `before_scheduling` show the order of table input_orders.
    """
    chosen = section(BlockSet, settings)
    orders = pd.Series(dtype=object)
    if chosen.input == "before_scheduling":
        orders = tables.read("input_orders", Path(stored)).set_index("block_id").input_order
    elif stored:
        drawn = tables.read("splits", Path(stored))
        orders = drawn[drawn.split == "test"].set_index("block_id").input_order
    known = tables.read("blocks", blocks, ["block_id", "source", "program", "n_instructions"])
    held_out = pd.Series([] if chosen.input == "before_scheduling" else orders.index, dtype=str)
    wanted = members(known, chosen, held_out)
    ids = pa.array(sorted(known.block_id.to_numpy()[wanted]), pa.string())
    held = store.load(instructions, dags)
    rows = held.rows(ids)
    if chosen.held_out or chosen.input == "before_scheduling":
        shown = pa.array(orders.loc[ids.to_pylist()], tables.SCHEMAS["sets"].field("input_order").type)
    else:
        shown = _drawn(held, rows, sampler, [seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])])
    with tables.writing("sets", out) as append:
        append(pa.table([ids, shown], schema=tables.SCHEMAS["sets"]))


def _drawn(held: store.BlockStore, rows: np.ndarray, sampler: Sampler, seeds: list[int]) -> pa.ListArray:
    """A random legal order of every block."""
    lengths = held.lengths[rows]
    bounds = np.r_[0, np.cumsum(lengths)]
    shown = np.empty(bounds[-1], np.int16)
    for number, items in enumerate(by_length(lengths, _INSTRUCTIONS)):
        precedes = held.as_emitted(rows[items]).precedes
        orders = SAMPLERS[sampler](precedes, np.random.default_rng([*seeds, number]))
        shown[bounds[items][:, None] + np.arange(orders.shape[1])] = orders
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.array(shown))


if __name__ == "__main__":
    run(main)
