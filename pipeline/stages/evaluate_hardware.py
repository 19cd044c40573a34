"""Orders timed on this machine: schedulers against GCC, and how well processor models rank the same orders."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis import hardware
from pipeline.analysis.cycles import Cycles
from pipeline.blocks.latency import llvm_mca
from pipeline.blocks.latency import simulation as orders
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.latency.modelled import modelled
from pipeline.config.evidence import Intervals
from pipeline.config.machines import Machine
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run
from pipeline.stages.scheduled import scheduled


def main(
    settings: Annotated[str, typer.Option(help="JSON of params.yaml's evaluation.bootstrap_samples and .confidence.")],
    machine_settings: Annotated[str, typer.Option(help="JSON: name of a processor model -> its settings.")],
    blocks: options.Blocks,
    instructions: options.Instructions,
    timings: Annotated[list[Path], typer.Option(help="Tables timings, .../{set}/timings.parquet.")],
    timed_blocks: Annotated[list[Path], typer.Option(help="Tables timed_blocks, .../{set}/timed_blocks.parquet.")],
    machines: Annotated[list[Path], typer.Option(help="Tables machine_instructions, {machine}.parquet.")],
    results: options.Out,
    outcomes: Annotated[Path, typer.Option(help="Table hardware_outcomes to write.")],
    schedules: Annotated[
        list[Path] | None,
        typer.Option(help="Tables schedules, .../{set}/{machine}/{scheduler}/{seed}/schedules.parquet."),
    ] = None,
) -> None:
    """Write geometric means of ratios, rank correlations within blocks, and how well the timing repeats.

    Without llvm-mca 19 its correlations are left out; those of the fast models stand.
    """
    intervals = section(Intervals, settings)
    known = section(dict[str, Machine], machine_settings)
    placed: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in sorted(schedules or []):
        placed[path.parts[-5], path.parts[-4]].append(path)
    frames, ends = [], []
    for path, other in zip(sorted(timings), sorted(timed_blocks), strict=True):
        split = path.parts[-2]
        measured, found = tables.read("timings", path), tables.read("timed_blocks", other)
        lengths = found[found["reason"] == ""].set_index("block_id")["n_instructions"]
        for (own_split, machine), sources in placed.items():
            if own_split == split:
                made = [one for source in sources for one in scheduled(source)]
                frames.append(hardware.schedulers(split, machine, measured, lengths, made, intervals))
        judges = _judges(measured[measured["random"]], blocks, instructions, machines, known)
        frames.append(hardware.references(split, measured, intervals))
        frames.append(hardware.quality(split, measured, found, intervals))
        frames.append(hardware.correlations(split, measured, judges, intervals))
        ends.append(hardware.outcomes(split, found))
    tables.write(pd.concat(frames, ignore_index=True), "results", results)
    tables.write(pd.concat(ends, ignore_index=True), "hardware_outcomes", outcomes)


def _judges(
    drawn: pd.DataFrame, blocks: Path, instructions: Path, machines: list[Path], settings: dict[str, Machine]
) -> dict[str, Cycles]:
    """What the fast models and llvm-mca say of the orders `drawn`."""
    asked = drawn[["block_id", "order"]].assign(order=drawn["order"].map(tuple)).reset_index(drop=True)
    wanted = tables.of_blocks(asked["block_id"])
    rows = tables.read("instructions", instructions, ["block_id", "encodings"], wanted)
    numbers = dict(zip(rows["block_id"], rows["encodings"].map(np.asarray), strict=True))
    found: dict[str, Cycles] = {}
    for path in sorted(machines):
        table = tables.arrow("machine_instructions", path)
        if len(table):
            said = modelled(asked, numbers, processor(table))
            found[f"model_{path.stem}"] = {
                (str(block), order): float(value)
                for block, own in asked.groupby("block_id")["order"]
                if str(block) in said
                for order, value in zip(own, said[str(block)], strict=True)
            }
    binary = llvm_mca.find()
    if binary is None:
        print(f"llvm-mca {llvm_mca.VERSION} is not installed: how it ranks orders is LEFT OUT", file=sys.stderr)
        return found
    code = tables.read("blocks", blocks, ["block_id", "masked_code"], wanted)
    masked = dict(zip(code["block_id"], code["masked_code"], strict=True))
    for name, machine in settings.items():
        judged = orders.simulate(asked, masked, name, machine, binary, 1)
        judged = judged[judged["status"] == "ok"]
        pairs = zip(judged["block_id"], judged["order"], strict=True)
        found[f"llvm_mca_{name}"] = dict(zip(pairs, judged["cycles"], strict=True))
    return found


if __name__ == "__main__":
    run(main)
