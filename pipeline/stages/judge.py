"""Every distinct valid order -> cycles, by llvm-mca as one judge of params.yaml."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import tables
from pipeline.blocks.latency import llvm_mca, simulation
from pipeline.config.processors import Judge
from pipeline.config.section import section
from pipeline.stages.command import run


def main(
    judge: Annotated[str, typer.Option(help="Name in params.yaml's judges.")],
    settings: Annotated[str, typer.Option(help="JSON of that judge's settings.")],
    blocks: Annotated[list[Path], typer.Option(help="Tables blocks.")],
    dags: Annotated[list[Path], typer.Option(help="Tables dags.")],
    latency: Annotated[Path, typer.Option(help="Table latency to write.")],
    schedules: Annotated[list[Path] | None, typer.Option(help="Tables schedules; orders with status ok enter.")] = None,
    timings: Annotated[list[Path] | None, typer.Option(help="Tables timings, whose random orders enter.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="llvm-mca processes at once; the result is the same.")] = 1,
) -> None:
    """Simulate every distinct valid order of every block, and GCC's own, with llvm-mca 19.

    Methods often agree: an order is simulated once, whoever proposed it. A block with an instruction that
    the model does not know is `unsupported`, with NaN cycles and llvm-mca's message, and counts nowhere.
    Without llvm-mca 19 the table is empty, a message says so, and the pipeline runs on.
    """
    model = section(Judge, settings)
    binary = llvm_mca.find()
    if binary is None:
        print(
            f"llvm-mca {llvm_mca.VERSION} is not installed: what judge {judge} says is LEFT OUT. "
            f"To have it: `{llvm_mca.INSTALL}` (as root), delete {latency}, and run the pipeline again.",
            file=sys.stderr,
        )
        tables.write(pd.DataFrame(columns=tables.SCHEMAS["latency"].names), "latency", latency)
        return
    asked = pd.concat(_asked(schedules or [], timings or []))
    wanted = tables.of_blocks(asked["block_id"])
    lengths = pd.concat([tables.read("dags", path, ["block_id", "n_instructions"], wanted) for path in dags])
    orders = simulation.distinct([asked], lengths.drop_duplicates("block_id").set_index("block_id")["n_instructions"])
    corpus = pd.concat([tables.read("blocks", path, ["block_id", "masked_code"], wanted) for path in blocks])
    code = dict(zip(corpus["block_id"], corpus["masked_code"], strict=True))
    table = simulation.simulate(orders, code, judge, model, binary, threads)
    tables.write(table, "latency", latency)
    unsupported = table[table["status"] != "ok"]
    for row in unsupported.drop_duplicates("block_id").itertuples():
        print(f"block {row.block_id}: unsupported by {judge}: {row.message}", file=sys.stderr)
    print(f"{len(table)} orders judged by {judge}, {len(unsupported)} of them unsupported", file=sys.stderr)


def _asked(schedules: list[Path], timings: list[Path]) -> Iterator[pd.DataFrame]:
    """Columns block_id, order, status. A block that no method could schedule is not asked about."""
    yield pd.DataFrame(columns=["block_id", "order", "status"])
    for path in schedules:
        table = tables.read("schedules", path, ["block_id", "order", "status"])
        yield table[~table["status"].str.startswith("unsupported")]
    for path in timings:
        table = tables.read("timings", path, ["block_id", "order", "random"])
        yield table.loc[table["random"], ["block_id", "order"]].assign(status="ok")


if __name__ == "__main__":
    run(main)
