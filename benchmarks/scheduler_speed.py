"""How long each scheduler of params.yaml's section `scheduling` takes for a block, on one core.

    python -m benchmarks.scheduler_speed --output reports/published/latency_speed.csv

Blocks: the first of each set that the processor's model knows, in their stored input orders. Timed: from
blocks and dependencies in flat arrays to orders, the processor's costs included; of a network every decoder by itself.
Not timed: reading files, building DAGs, loading networks, compiling (one run before). Schedulers take turns, round
after round, so that a slow moment of the computer falls on all of them; median, smallest and largest of the rounds.

The table's columns are those of reports/results.csv; metric microseconds_per_block, seed `all`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import pandas as pd
import torch
import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.cycles import EXPERIMENT
from pipeline.blocks.latency.costs import Processor, processor
from pipeline.blocks.problems import instructions as known
from pipeline.blocks.problems import store
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.processors import supported
from pipeline.blocks.problems.sample import load
from pipeline.blocks.schedulers import Request, Scheduler, find
from pipeline.blocks.schedulers.ordering import Imitating
from pipeline.config import params
from pipeline.config.schedulers import Scheduler as Settings
from pipeline.config.schedulers import Scheduling

_INSTRUCTIONS = 8192  # of a batch


def _schedule(made: Scheduler, batches: list[Problems]) -> None:
    for batch in batches:
        made.schedule(batch, np.random.default_rng(0))


def _decode(made: Imitating, batches: list[Problems], decoder: str) -> None:
    for batch in batches:
        made.decode(batch, np.random.default_rng(0), [decoder])


def main(
    output: Annotated[Path, typer.Option(help="CSV file to write.")],
    machine: Annotated[str, typer.Option(help="Processor of params.yaml, scheduling.machines.")] = "atom",
    data: Annotated[Path, typer.Option(help="Folder of the pipeline's tables.")] = Path("data"),
    chosen: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set whose blocks are scheduled; otherwise those of scheduling.tested."),
    ] = None,
    n_blocks: Annotated[int, typer.Option(help="Blocks of each set.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Times that each scheduler is timed.")] = 3,
) -> None:
    """Time every scheduler, one after the other, several times."""
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    settings = params.load().scheduling
    held = store.load(data / "instructions/released/blocks.parquet", data / "dags/full.parquet")
    encodings = known.load(data / "instructions/released/encodings.parquet")
    chip = processor(tables.arrow("machine_instructions", data / f"instructions/released/machines/{machine}.parquet"))
    schedulers = _schedulers(settings, data, machine, encodings, chip)
    rows = []
    for name in chosen or settings.tested:
        sample = load(data / f"sets/{name}.parquet", held)
        items = np.flatnonzero(supported(held, sample.rows, chip))[:n_blocks]
        batches = []
        for part in by_length(held.lengths[sample.rows[items]], _INSTRUCTIONS):
            shown = np.stack([sample.orders[item] for item in items[part]])
            batches.append(held.problems(sample.rows[items[part]], shown))
        for (scheduler, decoder), seconds in _seconds(schedulers, batches, rounds).items():
            each = 1e6 * seconds / len(items)
            middle, least, most = np.median(each), each.min(), each.max()
            print(f"{name:12} {scheduler:36} {decoder:8} {middle:12,.1f} microseconds ({least:,.1f} to {most:,.1f})")
            place = (EXPERIMENT, "full", name, scheduler, decoder, "all", "microseconds_per_block")
            rows.append((*place, middle, least, most, len(items)))
    with tables.replacing(output) as temporary:
        temporary.write_text(tidy.csv(pd.DataFrame(rows, columns=tidy.COLUMNS)))


def _schedulers(
    settings: Scheduling, data: Path, machine: str, encodings: known.Encodings, chip: Processor
) -> dict[str, Scheduler]:
    """The processor's schedulers by name, with the weights of the first seed."""
    folder, seed = data / "scheduling", settings.seeds[0]
    methods = {name: one for name, one in settings.schedulers.items() if machine in (one.machines or [machine])}
    methods |= {name: Settings(method="ordering") for name, one in settings.models.items() if machine in one.machines}
    made = {}
    for name, one in methods.items():
        weights = folder / f"policies/{machine}/{name}.safetensors" if one.learning else None
        if name in settings.models:
            weights = folder / f"models/{name}/{seed}/weights.safetensors"
        if one.model:
            weights = data / f"imitations/imitation/{one.model}/{seed}/weights.safetensors"
        made[name] = find(one.method)(Request(one, None, weights, None, encodings, chip))
    return made


def _seconds(
    schedulers: dict[str, Scheduler], batches: list[Problems], rounds: int
) -> dict[tuple[str, str], np.ndarray]:
    """Seconds of each round over all batches, by scheduler and decoder."""
    runs: dict[tuple[str, str], Callable[[], object]] = {}
    for name, made in schedulers.items():
        if isinstance(made, Imitating):
            runs |= {(name, decoder): partial(_decode, made, batches, decoder) for decoder in made.decoders}
        else:
            runs[name, "none"] = partial(_schedule, made, batches)
    found = defaultdict(list)
    for turn in range(rounds + 1):
        for place, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                found[place].append(time.perf_counter() - start)
    return {place: np.array(seconds) for place, seconds in found.items()}


if __name__ == "__main__":
    typer.run(main)
