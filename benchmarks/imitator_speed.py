"""How many blocks imitators schedule in a second, on two cores.

    python -m benchmarks.imitator_speed --scheduler attention_pointer --scheduler attention_pointer_following \
        --output reports/published/imitation_speed.csv

Blocks: those of a set (test_4_40: 4 to 40 instructions, as they occur), at most 20,000 of them, in their stored input
orders. Timed: from blocks and dependencies in flat arrays to orders, for each decoder by itself; that is, gathering
batches, relations, encoder and decoding. Not timed: reading files, building DAGs, loading the network. Everything is
compiled and warmed up by one run; median, smallest and largest of 9 runs.

The table's columns are those of reports/results.csv; metric blocks_per_second, seed `all`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import pandas as pd
import torch
import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.models.ordering_training import schedule
from pipeline.blocks.problems import instructions, store
from pipeline.blocks.problems.sample import Sample, load

_CORES, _RUNS, _BLOCKS = 2, 9, 20_000


def main(
    scheduler: Annotated[list[str], typer.Option(help="Trained imitators of the experiment, by name.")],
    output: Annotated[Path, typer.Option(help="CSV file to write.")],
    experiment: Annotated[str, typer.Option(help="Experiment of params.yaml.")] = "imitation",
    seed: Annotated[int, typer.Option(help="Which of its trainings.")] = 0,
    data: Annotated[Path, typer.Option(help="Folder of the pipeline's tables.")] = Path("data"),
    chosen: Annotated[str, typer.Option("--set", help="Set whose blocks are scheduled.")] = "test_4_40",
) -> None:
    """Time the decoders of each network."""
    torch.set_num_threads(_CORES)
    numba.set_num_threads(_CORES)
    held = store.load(data / "instructions/released/blocks.parquet", data / "dags/full.parquet")
    whole = load(data / f"sets/{chosen}.parquet", held)
    sample = Sample(whole.block_ids[:_BLOCKS], whole.rows[:_BLOCKS], whole.orders[:_BLOCKS])
    encodings = instructions.load(data / "instructions/released/encodings.parquet")
    networks = [
        (name, OrderingNetwork.load(data / f"imitations/{experiment}/{name}/{seed}/weights.safetensors"))
        for name in scheduler
    ]
    rows = []
    for name, network, decoder in [(*one, decoder) for one in networks for decoder in one[1].head.decoders]:
        seconds = []
        for _ in range(_RUNS + 1):
            start = time.perf_counter()
            schedule(network, held, encodings, sample, np.random.default_rng(0), [decoder])
            seconds.append(time.perf_counter() - start)
        speeds = len(sample.rows) / np.sort(seconds[1:])[::-1]
        print(f"{name}, {decoder}: {np.median(speeds):,.0f} blocks/s ({speeds[0]:,.0f} to {speeds[-1]:,.0f})")
        place = (experiment, "full", chosen, name, decoder, "all", "blocks_per_second")
        rows.append((*place, float(np.median(speeds)), speeds[0], speeds[-1], len(sample.rows)))
    with tables.replacing(output) as temporary:
        temporary.write_text(tidy.csv(pd.DataFrame(rows, columns=tidy.COLUMNS)))


if __name__ == "__main__":
    typer.run(main)
