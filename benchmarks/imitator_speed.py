"""How many blocks imitators schedule in a second, on two cores.

    python -m benchmarks.imitator_speed --scheduler attention_pointer --scheduler attention_pointer_following

Blocks: those of a set (test_4_40: 4 to 40 instructions, as they occur), at most 20,000 of them, in their stored input
orders. Timed: from blocks and dependencies in flat arrays to orders, for each decoder by itself; that is, gathering
batches, relations, encoder and decoding. Not timed: reading files, building DAGs, loading the network. Everything is
compiled and warmed up by one run; median, smallest and largest of 9 runs.

It publishes the experiment `imitation_speed`: metric blocks_per_second, seed `all`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numba
import numpy as np
import torch
import typer

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import results, row
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.problems import instructions, store
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.sample import Sample, load
from pipeline.blocks.schedulers import Budget, Decoding, make
from pipeline.config.methods import entry
from pipeline.places import path

_CORES, _RUNS, _BLOCKS, _INSTRUCTIONS = 2, 9, 20_000, 8192


def main(
    scheduler: Annotated[list[str], typer.Option(help="Trained imitators of the experiment, by name.")],
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "imitation_speed",
    experiment: Annotated[str, typer.Option(help="Experiment of params.yaml.")] = "imitation",
    seed: Annotated[int, typer.Option(help="Which of its trainings.")] = 0,
    chosen: Annotated[str, typer.Option("--set", help="Set whose blocks are scheduled.")] = "test_4_40",
) -> None:
    """Time the decoders of each network."""
    torch.set_num_threads(_CORES)
    numba.set_num_threads(_CORES)
    dags = path("dags", corpus="released", dependencies="full")
    held = store.load(Path(path("instructions", corpus="released")), Path(dags))
    whole = load(Path(path("sets", set=chosen)), held)
    sample = Sample(whole.block_ids[:_BLOCKS], whole.rows[:_BLOCKS], whole.orders[:_BLOCKS])
    encodings = instructions.load(Path(path("encodings", corpus="released")))
    measured, modules = [], {"benchmarks.imitator_speed"}
    weights = {
        name: path("weights", experiment=experiment, dependencies="full", model=name, seed=seed) for name in scheduler
    }
    for name, file in weights.items():
        method = make(entry("ordering"), {"weights": Path(file), "encodings": encodings})
        assert isinstance(method, Decoding)
        modules |= set(entry("ordering", model=name).modules(OrderingNetwork.load(Path(file)).settings))
        for decoder in method.decoders:
            seconds = [_seconds(method, held, sample, decoder) for _ in range(_RUNS + 1)]
            speeds = len(sample.rows) / np.sort(seconds[1:])[::-1]
            print(f"{name}, {decoder}: {np.median(speeds):,.0f} blocks/s ({speeds[0]:,.0f} to {speeds[-1]:,.0f})")
            of = {"experiment": output.name, "set": chosen, "target": "gcc", "method": name, "decoder": decoder}
            numbers = (float(np.median(speeds)), speeds[0], speeds[-1], len(sample.rows))
            measured.append(row(of, "blocks_per_second", *numbers, over="rounds", seed="all"))
    settings = {"experiment": experiment, "seed": seed, "cores": _CORES, "runs": _RUNS, "blocks": _BLOCKS}
    inputs = [dags, path("instructions", corpus="released"), path("encodings", corpus="released")]
    publish(output, {"results": results(measured)}, settings, sorted(modules), inputs, weights.values())


def _seconds(method: Decoding, held: store.BlockStore, sample: Sample, decoder: str) -> float:
    """Of one run over all blocks, batches gathered and orders decoded."""
    start, rng = time.perf_counter(), np.random.default_rng(0)
    for items in by_length(held.lengths[sample.rows], _INSTRUCTIONS):
        shown = np.stack([sample.orders[item] for item in items])
        method.decode(held.problems(sample.rows[items], shown), rng, Budget(), [decoder])
    return time.perf_counter() - start


if __name__ == "__main__":
    typer.run(main)
