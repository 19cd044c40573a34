"""Every distinct valid order -> cycles on one processor model."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import tables
from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency import simulation as orders
from pipeline.config.machines import Machine
from pipeline.config.section import section
from pipeline.stages.command import run


def main(
    machine: Annotated[str, typer.Option(help="Name of the machine in params.yaml, latency.machines.")],
    settings: Annotated[str, typer.Option(help="JSON of that machine's settings.")],
    blocks: Annotated[Path, typer.Option(help="Table blocks.")],
    dags: Annotated[list[Path], typer.Option(help="Tables dags, one per dependencies mode.")],
    schedules: Annotated[list[Path], typer.Option(help="Tables schedules; orders with status ok are simulated.")],
    out: Annotated[Path, typer.Option(help="Table latency to write.")],
    threads: Annotated[int, typer.Option(min=1, help="llvm-mca processes at once; the result is the same.")] = 1,
) -> None:
    """Simulate every distinct valid order of every block, and GCC's own, with llvm-mca 19.

    Schedulers often agree: an order is simulated once, whoever proposed it. A block with an instruction that
    the model does not know is `unsupported`, with NaN cycles and llvm-mca's message, and counts nowhere.
    Without llvm-mca 19 the table is empty, a message says so, and the pipeline runs on.
    """
    model = section(Machine, settings)
    binary = llvm_mca.find()
    if binary is None:
        print(
            f"llvm-mca {llvm_mca.VERSION} is not installed: the latency rows ({model.metric}) are LEFT OUT. "
            f"To have them: `{llvm_mca.INSTALL}` (as root), delete {out}, and run the pipeline again.",
            file=sys.stderr,
        )
        tables.write(pd.DataFrame(columns=tables.SCHEMAS["latency"].names), "latency", out)
        return
    scheduled = tables.of_blocks(chain(*(tables.read("schedules", path, ["block_id"]).block_id for path in schedules)))
    known = pd.concat([tables.read("dags", path, ["block_id", "n_instructions"], scheduled) for path in dags])
    lengths = known.drop_duplicates("block_id").set_index("block_id")["n_instructions"]
    frames = (tables.read("schedules", path, ["block_id", "order", "status"]) for path in schedules)
    wanted = orders.distinct(frames, lengths)
    corpus = tables.read("blocks", blocks, ["block_id", "masked_code"], tables.of_blocks(wanted["block_id"]))
    code = dict(zip(corpus["block_id"], corpus["masked_code"], strict=True))
    table = orders.simulate(wanted, code, machine, model, binary, threads)
    tables.write(table, "latency", out)
    unsupported = table[table["status"] != "ok"]
    for row in unsupported.drop_duplicates("block_id").itertuples():
        print(f"block {row.block_id}: unsupported on {machine}: {row.message}", file=sys.stderr)
    print(f"{len(table)} orders simulated on {machine}, {len(unsupported)} of them unsupported", file=sys.stderr)


if __name__ == "__main__":
    run(main)
