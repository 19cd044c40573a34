"""Cycles of every distinct legal order, by llvm-mca as one judge of params.yaml."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from learned_schedulers.blocks.processors import llvm_mca, simulation
from learned_schedulers.blocks.processors.settings import Judge
from learned_schedulers.section import section
from pipeline.corpus.tables import BLOCKS, DAGS
from pipeline.lab import tables
from pipeline.lab.shared_tables import LATENCY, SCHEDULES
from pipeline.lab.stages import options


def main(
    judge: options.Name,
    settings: options.Settings,
    blocks: options.Tables,
    dags: options.Tables,
    latency: options.Out,
    schedules: options.SomeTables = None,
    threads: options.Threads = 1,
) -> None:
    """Simulate every distinct legal order of every block, and GCC's own order, with llvm-mca 19.

    Of tables schedules the orders with status ok enter. Methods often agree: the stage simulates an order once, for
    all of them. A block with an instruction that the model does not know is `unsupported`, with NaN cycles and
    llvm-mca's message, and counts nowhere. Without llvm-mca 19 the table is empty, a message says so, and the pipeline
    continues.
    """
    model = section(Judge, settings)
    binary = llvm_mca.find()
    if binary is None:
        print(
            f"llvm-mca {llvm_mca.VERSION} is not installed: the cycles by judge {judge} are LEFT OUT. "
            f"To have it: `{llvm_mca.INSTALL}` (as root), delete {latency}, and run the pipeline again.",
            file=sys.stderr,
        )
        tables.write_rows([], LATENCY, latency)
        return
    proposed = pd.concat(_proposed(schedules or []))
    members = tables.of_blocks(proposed["block_id"])
    lengths = pd.concat([tables.read(DAGS, path, ["block_id", "n_instructions"], members) for path in dags])
    orders = simulation.distinct(
        [proposed], lengths.drop_duplicates("block_id").set_index("block_id")["n_instructions"]
    )
    corpus = pd.concat([tables.read(BLOCKS, path, ["block_id", "masked_code"], members) for path in blocks])
    code = dict(zip(corpus["block_id"], corpus["masked_code"], strict=True))
    table = simulation.simulate(orders, code, judge, model, binary, threads)
    tables.write(table, LATENCY, latency)
    unsupported = table[table["status"] != "ok"]
    for row in unsupported.drop_duplicates("block_id").itertuples():
        print(f"block {row.block_id}: unsupported by {judge}: {row.message}", file=sys.stderr)
    print(f"{len(table)} orders judged by {judge}, {len(unsupported)} of them unsupported", file=sys.stderr)


def _proposed(schedules: list[Path]) -> Iterator[pd.DataFrame]:
    """Columns block_id, order, status, without the blocks that a method could not schedule."""
    yield pd.DataFrame(columns=["block_id", "order", "status"])
    for path in schedules:
        table = tables.read(SCHEDULES, path, ["block_id", "order", "status"])
        yield table[~table["status"].str.startswith("unsupported")]
