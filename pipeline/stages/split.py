"""Training, development and test blocks, each with its stored input order."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline import config, tables
from pipeline.corpus.split import draw
from pipeline.dag.topology import adjacency, random_legal_orders
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    settings: options.Settings,
    dags: options.Dags,
    out: options.Out,
) -> None:
    """Draw the splits and fix, for every block, the random topological order in which schedulers see it."""
    chosen = config.section(config.Split, settings)
    found = tables.read("dags", dags, ["block_id", "n_instructions", "before", "after"]).set_index("block_id")
    parts = []
    for number, (split, block_ids) in enumerate(draw(list(found.index), chosen).items()):
        blocks = found.loc[block_ids]
        precedes = adjacency(chosen.n_instructions, list(blocks.before), list(blocks.after))
        orders = random_legal_orders(precedes, np.random.default_rng([chosen.seed, number]))
        parts.append(pd.DataFrame({"block_id": block_ids, "split": split, "input_order": list(orders)}))
    tables.write(pd.concat(parts), "splits", out)


if __name__ == "__main__":
    run(main)
