"""Cycles of every scheduler's orders on processor models, against GCC's and the best orders known."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis import cycles
from pipeline.analysis.cycles import Cycles, Scheduled
from pipeline.config.evidence import Intervals
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run
from pipeline.stages.scheduled import scheduled


def main(
    settings: Annotated[str, typer.Option(help="JSON of params.yaml's evaluation.bootstrap_samples and .confidence.")],
    sets: Annotated[list[Path], typer.Option(help="Tables sets, named {set}.parquet.")],
    dags: options.Dags,
    cycles_: Annotated[
        list[Path], typer.Option("--cycles", help="Tables latency, .../{set}/{machine}/cycles_{iterations}.parquet.")
    ],
    schedules: Annotated[
        list[Path], typer.Option(help="Tables schedules, .../{set}/{machine}/{scheduler}/{seed}/schedules.parquet.")
    ],
    optima: Annotated[list[Path], typer.Option(help="Tables optima, .../{machine}/{scheduler}/{set}.parquet.")],
    results: options.Out,
    by_length: options.Out,
) -> None:
    """Write one row per set, scheduler, decoder, seed and metric, and one per range of lengths."""
    intervals = section(Intervals, settings)
    members: dict[str, pd.Series] = {path.stem: tables.read("sets", path, ["block_id"])["block_id"] for path in sets}
    lengths = tables.read(
        "dags", dags, ["block_id", "n_instructions"], tables.of_blocks(pd.concat(list(members.values())))
    )
    of_block = lengths.set_index("block_id")["n_instructions"]
    placed: dict[tuple[str, ...], list[Path]] = defaultdict(list)
    for path in schedules:
        placed[path.parts[-5:-3]].append(path)
    whole, pieces = [], []
    for path in tqdm(sorted(cycles_), "cycles", unit="table", file=sys.stderr):
        split, machine = path.parts[-3:-1]
        iterations = path.stem.rpartition("_")[2]
        named = machine if iterations == "1" else f"{machine}_{iterations}"
        own = of_block.loc[members[split]]
        orders = [one for source in sorted(placed[split, machine]) for one in scheduled(source)]
        orders.append(
            Scheduled("gcc", "none", 0, {block: tuple(range(n)) for block, n in zip(own.index, own, strict=True)})
        )
        known = _cycles(path)
        to_gcc, to_best = (cycles.ratios(known, own, orders, to) for to in ("gcc", "best"))
        whole.append(cycles.results(split, named, to_gcc, to_best, intervals))
        pieces.append(cycles.by_length(split, named, to_gcc, own, intervals))
    for path in sorted(optima):
        scheduler = path.parts[-2]
        proven = tables.read("optima", path, ["block_id", "proven"]).set_index("block_id")["proven"]
        whole.append(cycles.proven(path.stem, scheduler, proven, of_block.loc[proven.index], intervals))
    tables.write(pd.concat(whole, ignore_index=True), "results", results)
    tables.write(pd.concat(pieces, ignore_index=True), "cycles_by_length", by_length)


def _cycles(path: Path) -> Cycles:
    table = tables.read("latency", path, ["block_id", "order", "cycles", "status"])
    table = table[table["status"] == "ok"]
    orders = (tuple(order.tolist()) for order in table["order"])
    return dict(zip(zip(table["block_id"], orders, strict=True), table["cycles"], strict=True))


if __name__ == "__main__":
    run(main)
