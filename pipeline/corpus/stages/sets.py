"""A named set of blocks of all lengths, each with its stored input order."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from learned_schedulers.blocks.dag.sampling import SAMPLERS
from learned_schedulers.blocks.dag.settings import Sampler
from learned_schedulers.blocks.problems import store
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.section import section
from pipeline.corpus.sets import members
from pipeline.corpus.tables import BLOCKS, DAGS, SETS, SPLITS
from pipeline.lab import tables
from pipeline.lab.config.sets import BlockSet
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import numbered

_INSTRUCTIONS = 1 << 16  # of a batch


def main(
    name: options.Name,
    settings: options.Settings,
    seed: options.Seed,
    sampler: options.Sampler,
    blocks: options.Blocks,
    dags: options.Dags,
    splits: options.Splits,
    out: options.Out,
) -> None:
    """Choose the blocks of a set and, for each, the random legal order in which schedulers see it.

    POCSNet's test blocks, split `test` of table splits, are only in sets that are `held_out`, in their order of that
    table.
    """
    chosen = section(BlockSet, settings)
    drawn = tables.read(SPLITS, splits)
    orders = drawn[drawn.split == "test"].set_index("block_id").input_order
    held_out = pd.Series(orders.index, dtype=str)
    candidates = tables.read(BLOCKS, blocks, ["block_id", "source", "program", "n_instructions"])
    ids = pa.array(
        sorted(candidates.block_id.to_numpy()[members(candidates, chosen, held_out)]),
        pa.string(),
    )
    block_store = _blocks(dags)
    rows = block_store.rows(ids)
    if chosen.held_out:
        shown = pa.array(orders.loc[ids.to_pylist()], SETS.schema.field("input_order").type)
    else:
        shown = _drawn(block_store, rows, sampler, [seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])])
    with tables.writing(SETS, out) as append:
        append(pa.table([ids, shown], schema=SETS.schema))


def _blocks(dags: Path) -> store.BlockStore:
    """All blocks of table `dags`, without their instructions."""
    table = tables.arrow(DAGS, dags)
    lengths = table["latencies"].combine_chunks()
    unknown = pa.array(np.zeros(len(lengths.values), np.int32))
    instructions = numbered(table["block_id"].combine_chunks(), pa.ListArray.from_arrays(lengths.offsets, unknown))
    return store.of_tables(instructions, table)


def _drawn(block_store: store.BlockStore, rows: np.ndarray, sampler: Sampler, seeds: list[int]) -> pa.ListArray:
    """A random legal order of every block."""
    lengths = block_store.lengths[rows]
    bounds = np.r_[0, np.cumsum(lengths)]
    shown = np.empty(bounds[-1], np.int16)
    for number, items in enumerate(by_length(lengths, _INSTRUCTIONS)):
        precedes = block_store.as_emitted(rows[items]).precedes
        orders = SAMPLERS[sampler](precedes, np.random.default_rng([*seeds, number]))
        shown[bounds[items][:, None] + np.arange(orders.shape[1])] = orders
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.array(shown))
