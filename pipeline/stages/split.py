"""Training, development and test blocks, each with its stored input order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pipeline import tables
from pipeline.blocks.corpus.split import draw
from pipeline.blocks.dag.sampling import SAMPLERS
from pipeline.blocks.dag.topology import adjacency
from pipeline.config.section import section
from pipeline.config.sets import Split
from pipeline.stages import options


def main(settings: options.Settings, blocks: options.Blocks, dags: options.Dags, out: options.Out) -> None:
    """Draw the splits and, for every block, the random legal order in which schedulers see it.

    Only blocks of split.n_instructions instructions from split.sources take part.
    """
    chosen = section(Split, settings)
    length = pc.field("n_instructions") == chosen.n_instructions
    eligible = tables.read("blocks", blocks, ["block_id"], length & pc.field("source").isin(chosen.sources)).block_id
    edges = tables.read("dags", dags, ["block_id", "before", "after"], length).set_index("block_id")
    parts = []
    for number, (split, block_ids) in enumerate(draw(list(eligible), chosen).items()):
        drawn = edges.loc[block_ids]
        precedes = adjacency(chosen.n_instructions, list(drawn.before), list(drawn.after))
        orders = SAMPLERS[chosen.sampler](precedes, np.random.default_rng([chosen.seed, number]))
        parts.append(pd.DataFrame({"block_id": block_ids, "split": split, "input_order": list(orders)}))
    tables.write(pd.concat(parts), "splits", out)
