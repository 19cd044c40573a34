"""Seconds per optimiser step of both networks, in turn in one process: `python benchmarks/training_step.py`.

Needs the tables that `snakemake data/splits/full.parquet data/tokens/tokens.parquet` makes.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import torch

from pipeline.blocks.models.pocsnet_training import train
from pipeline.blocks.problems import token_blocks
from pipeline.blocks.problems.token_blocks import Blocks
from pipeline.config.params import load
from pipeline.places import path

STEPS = 40


def main() -> None:
    torch.set_num_threads(1)
    tables = [
        path("dags", corpus="released", dependencies="full"),
        path("splits", dependencies="full"),
        path("tokens"),
        path("vocabulary"),
    ]
    parts = token_blocks.load(["training", "development"], *map(Path, tables))
    development = parts["development"]  # a few blocks: its measurements would drown the steps
    few = Blocks(development.block_ids[:8], development.problems[:8], development.input_order[:8], development.trie)
    models = load().experiments["quick"].models
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(5):
        for name, settings in models.items():
            short = settings.model_copy(update={"steps": STEPS})
            start = time.perf_counter()
            train(parts["training"], few, short, 0)
            seconds[name].append((time.perf_counter() - start) / STEPS)
    for name, step_seconds in seconds.items():
        print(f"{name}: {1e3 * median(step_seconds):.1f} ms a step")
    print(f"popocs / sinkhorn: {median(seconds['popocs']) / median(seconds['sinkhorn']):.2f}")


if __name__ == "__main__":
    main()
