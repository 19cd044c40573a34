"""The best orders that can be found of a set's blocks on a processor model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency import simulation as orders
from pipeline.blocks.latency.costs import Processor, processor
from pipeline.blocks.latency.model import costs
from pipeline.blocks.problems import store
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.processors import supported
from pipeline.blocks.problems.sample import Sample, load
from pipeline.blocks.schedulers import Exact, Request, find
from pipeline.blocks.schedulers.list_scheduling import list_schedule
from pipeline.blocks.schedulers.on_machine.settling import settle
from pipeline.config.machines import Machine
from pipeline.config.schedulers import Scheduler
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run

_INSTRUCTIONS = 2048  # of a batch: often enough for the progress bar


def main(
    scheduler: Annotated[str, typer.Option(help="JSON of the scheduler that finds them, as in params.yaml.")],
    seed: options.Seed,
    chosen: Annotated[Path, typer.Option("--set", help="Table sets.")],
    blocks: options.Blocks,
    instructions: options.Instructions,
    dags: options.Dags,
    machine: Annotated[str, typer.Option(help="Name of the machine in params.yaml, latency.machines.")],
    settings: Annotated[str, typer.Option(help="JSON of that machine's settings.")],
    table: Annotated[Path, typer.Option(help="Table machine_instructions of the machine.")],
    out: options.Out,
    threads: Annotated[int, typer.Option(min=1, help="llvm-mca processes at once; the result is the same.")] = 1,
) -> None:
    """Find the best order of every block on the machine's model, and have llvm-mca judge it beside GCC's.

    Where llvm-mca gives GCC's order fewer cycles, that is the best one known and stands here, not proven. Blocks that
    llvm-mca does not know are left out, and their number is said.
    """
    binary = llvm_mca.find()
    if binary is None:
        raise ValueError(f"llvm-mca {llvm_mca.VERSION} is needed: `{llvm_mca.INSTALL}` (as root), then run again")
    held = store.load(instructions, dags)
    sample = load(chosen, held)
    chip = processor(tables.arrow("machine_instructions", table))
    how = section(Scheduler, scheduler)
    made = find(how.method)(Request(how, None, None, None, None, chip))
    if not isinstance(made, Exact):
        raise ValueError(f"{how.method} does not say how good its orders are; take one with a method `optima`")
    known = np.flatnonzero(supported(held, sample.rows, chip))
    frames = []
    batches = by_length(held.lengths[sample.rows[known]], _INSTRUCTIONS)
    for number, items in enumerate(tqdm(batches, f"best orders, {machine}", unit="batch", file=sys.stderr)):
        frames.append(_found(made, chip, held, sample, known[items], np.random.default_rng([seed, number])))
    best = pd.concat(frames, ignore_index=True)
    gcc = best.assign(order=best["order"].map(lambda order: tuple(range(len(order)))))
    code = tables.read("blocks", blocks, ["block_id", "masked_code"], tables.of_blocks(best["block_id"]))
    masked = dict(zip(code["block_id"], code["masked_code"], strict=True))
    model = section(Machine, settings)
    judged = [
        orders.simulate(one[["block_id", "order"]], masked, machine, model, binary, threads) for one in (best, gcc)
    ]
    best = best.assign(cycles=judged[0]["cycles"], gcc_cycles=judged[1]["cycles"])
    best = best[(judged[0]["status"] == "ok") & (judged[1]["status"] == "ok")]
    print(f"{len(sample.rows) - len(best)} of {len(sample.rows)} blocks are unsupported on {machine}", file=sys.stderr)
    worse = best["cycles"] > best["gcc_cycles"]
    best.loc[worse, "order"] = gcc["order"]
    best.loc[worse, "cycles"] = best["gcc_cycles"]
    best.loc[worse, "proven"] = False
    tables.write(best.sort_values("block_id", ignore_index=True), "optima", out)


def _found(
    made: Exact, chip: Processor, held: store.BlockStore, sample: Sample, items: np.ndarray, rng: np.random.Generator
) -> pd.DataFrame:
    """Of blocks of one length: the best orders in GCC's numbers, their cycles and bounds on the model.

    Of the best orders those nearest to list scheduling, for a network to learn; ties there go by GCC's order.
    """
    rows = sample.rows[items]
    emitted = np.tile(np.arange(held.lengths[rows[0]], dtype=np.int16), (len(rows), 1))
    problems = held.problems(rows, emitted)
    found = made.optima(problems, rng)
    listed = list_schedule(problems, "critical_path", chip.costs(problems.instructions))
    cycles = settle(problems, costs(chip, problems.instructions), found.order, listed)
    return pd.DataFrame(
        {
            "block_id": sample.block_ids.take(items).to_pylist(),
            "order": list(map(tuple, found.order.tolist())),
            "model_cycles": cycles,
            "bound": found.bound,
            "proven": cycles == found.bound,
        }
    )


if __name__ == "__main__":
    run(main)
