"""How long each scheduler of params.yaml's section `scheduling` takes for a block, on one core.

    python -m benchmarks.scheduler_speed --output reports/published/latency_speed.csv

Blocks: the first of a set (test_10_40) that the processor's model knows, in their stored input orders. Timed: from
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
from pipeline.config import params
from pipeline.config.schedulers import Scheduler as Settings
from pipeline.evidence import tidy
from pipeline.evidence.cycles import EXPERIMENT
from pipeline.latency.costs import processor
from pipeline.models import instructions as known
from pipeline.models import store
from pipeline.models.batches import by_length
from pipeline.models.problems import Problems
from pipeline.models.processors import supported
from pipeline.models.sample import load
from pipeline.schedulers import Request, Scheduler, find
from pipeline.schedulers.imitator import Imitating

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
    chosen: Annotated[str, typer.Option("--set", help="Set whose blocks are scheduled.")] = "test_10_40",
    n_blocks: Annotated[int, typer.Option(help="Blocks.")] = 200,
    rounds: Annotated[int, typer.Option(help="Times that each scheduler is timed.")] = 5,
) -> None:
    """Time every scheduler, one after the other, several times."""
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    settings = params.load().scheduling
    held = store.load(data / "instructions/released/blocks.parquet", data / "dags/full.parquet")
    encodings = known.load(data / "instructions/released/encodings.parquet")
    chip = processor(tables.arrow("machine_instructions", data / f"instructions/released/machines/{machine}.parquet"))
    sample = load(data / f"sets/{chosen}.parquet", held)
    items = np.flatnonzero(supported(held, sample.rows, chip))[:n_blocks]
    batches = []
    for part in by_length(held.lengths[sample.rows[items]], _INSTRUCTIONS):
        shown = np.stack([sample.orders[item] for item in items[part]])
        batches.append(held.problems(sample.rows[items[part]], shown))
    folder, seed = data / "scheduling", settings.seeds[0]
    runs: dict[tuple[str, str], Callable[[], object]] = {}
    methods = {name: one for name, one in settings.schedulers.items() if machine in (one.machines or [machine])}
    methods |= {name: Settings(method="imitator") for name, one in settings.models.items() if machine in one.machines}
    for name, one in methods.items():
        weights = folder / f"policies/{machine}/{name}.safetensors" if one.learning else None
        if name in settings.models:
            weights = folder / f"models/{name}/{seed}/weights.safetensors"
        if one.model:
            weights = data / f"imitations/imitation/{one.model}/{seed}/weights.safetensors"
        made = find(one.method)(Request(one, None, weights, None, encodings, chip))
        if isinstance(made, Imitating):
            runs |= {(name, decoder): partial(_decode, made, batches, decoder) for decoder in made.decoders}
        else:
            runs[name, "none"] = partial(_schedule, made, batches)
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for turn in range(rounds + 1):
        for place, run in runs.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[place].append(time.perf_counter() - start)
    rows = []
    for (name, decoder), found in seconds.items():
        each = 1e6 * np.sort(found) / len(items)
        print(f"{name:36} {decoder:8} {np.median(each):12,.1f} microseconds ({each[0]:,.1f} to {each[-1]:,.1f})")
        place = (EXPERIMENT, "full", chosen, name, decoder, "all", "microseconds_per_block")
        rows.append((*place, float(np.median(each)), each[0], each[-1], len(items)))
    with tables.replacing(output) as temporary:
        temporary.write_text(tidy.csv(pd.DataFrame(rows, columns=tidy.COLUMNS)))
