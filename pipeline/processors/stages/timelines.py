"""A few blocks in several orders on an in-order processor: the cycle at which each instruction issues."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from learned_schedulers.blocks.processors.costs import processor
from learned_schedulers.blocks.processors.in_order import simulate
from learned_schedulers.blocks.read.assembly import gas
from pipeline.corpus.tables import BLOCKS, SETS
from pipeline.lab import tables
from pipeline.lab.stages import options
from pipeline.lab.stored_blocks import load_store
from pipeline.processors.tables import MACHINE_INSTRUCTIONS, OPTIMA, TIMELINES


def main(
    seed: options.Seed,
    n_blocks: options.Shown,
    longest: Annotated[int, typer.Option(min=2, help="Instructions of the longest shown block.")],
    chosen: options.Set,
    blocks: options.Blocks,
    instructions: options.Instructions,
    dags: options.Dags,
    machine: options.Machine,
    optima: options.Table,
    timelines: options.Out,
) -> None:
    """Draw blocks whose best order is proven and takes fewer cycles than GCC's; show input, GCC's and best."""
    chip, block_store = processor(tables.arrow(MACHINE_INSTRUCTIONS, machine)), load_store(instructions, dags)
    best = tables.read(OPTIMA, optima).set_index("block_id")
    shown = tables.read(SETS, chosen).set_index("block_id")["input_order"]
    better = best[best["proven"] & (best["cycles"] < best["gcc_cycles"]) & (best["order"].map(len) <= longest)]
    drawn = np.random.default_rng(seed).permutation(sorted(better.index))[:n_blocks].tolist()
    code = tables.read(BLOCKS, blocks, ["block_id", "masked_code"], tables.of_blocks(drawn)).set_index("block_id")
    rows = []
    for rank, block in enumerate(drawn):
        texts = gas(code.loc[block, "masked_code"])
        row = block_store.rows(pa.array([block]))
        costs = chip.costs(block_store.as_emitted(row).instructions)
        orders = {
            "input": shown[block],
            "GCC": np.arange(len(texts)),
            "best": best.loc[block, "order"],
        }
        timing = simulate(costs, np.stack(list(orders.values())).astype(np.int64)[None])
        for number, (title, order) in enumerate(orders.items()):
            for slot, instruction in enumerate(order):
                issue, cycles = timing.issue[0, number, slot], timing.makespan[0, number]
                text, latency = texts[instruction], costs.latencies[0, instruction]
                rows.append((rank, block, number, title, slot, text, issue, latency, cycles))
    tables.write_rows(rows, TIMELINES, timelines)
