"""Training, development and test blocks, each with its stored input order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from learned_schedulers.blocks.dag.sampling import SAMPLERS
from learned_schedulers.blocks.dag.topology import adjacency
from learned_schedulers.section import section
from pipeline.corpus.split import draw
from pipeline.corpus.tables import BLOCKS, DAGS, SPLITS
from pipeline.lab import tables
from pipeline.lab.config.sets import Split
from pipeline.lab.stages import options


def _eligible(blocks: Path, chosen: Split) -> pa.StringArray:
    """Ids of the blocks that may be drawn. Only they stay in memory, not the blocks."""
    condition = (pc.field("n_instructions") == chosen.n_instructions) & pc.field("source").isin(chosen.sources)
    columns = ["block_id", "source", "n_instructions"]
    pieces = [group.filter(condition)["block_id"] for group in tables.RowGroups(BLOCKS, blocks, columns)]
    return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], pa.string()).combine_chunks()


def _edges(dags: Path, drawn: pa.Array) -> pd.DataFrame:
    """Edges of the drawn blocks, by block_id."""
    groups = tables.RowGroups(DAGS, dags, ["block_id", "before", "after"])
    pieces = [group.filter(pc.is_in(group["block_id"], drawn)) for group in groups]
    return pa.concat_tables(pieces).to_pandas().set_index("block_id")


def main(settings: options.Settings, blocks: options.Blocks, dags: options.Dags, out: options.Out) -> None:
    """Draw the splits and, for every block, the random legal order in which schedulers see it.

    Only blocks of split.n_instructions instructions from split.sources take part.
    """
    chosen = section(Split, settings)
    splits = draw(_eligible(blocks, chosen), chosen)
    edges = _edges(dags, pa.array([block_id for ids in splits.values() for block_id in ids], pa.string()))
    parts = []
    for number, (split, block_ids) in enumerate(splits.items()):
        drawn = edges.loc[block_ids]
        precedes = adjacency(chosen.n_instructions, list(drawn.before), list(drawn.after))
        orders = SAMPLERS[chosen.sampler](precedes, np.random.default_rng([chosen.seed, number]))
        parts.append(pd.DataFrame({"block_id": block_ids, "split": split, "input_order": list(orders)}))
    tables.write(pd.concat(parts), SPLITS, out)
