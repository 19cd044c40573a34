"""Train one imitator with one seed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import torch
import typer
from torch import distributed

from pipeline import config, tables
from pipeline.models import instructions as known
from pipeline.models import store
from pipeline.models.imitation import State, train
from pipeline.models.sample import load
from pipeline.stages import options
from pipeline.stages.checkpoints import Checkpoint
from pipeline.stages.command import run


def main(
    settings: options.Settings,
    seed: options.Seed,
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    training: Annotated[Path, typer.Option(help="Table sets, the blocks to learn from.")],
    development: Annotated[Path, typer.Option(help="Table sets, the blocks to be measured on.")],
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on GCC's orders and keep what was best on the development blocks.

    An interrupted training goes on from its last measurement: the state lies in .cache/checkpoints under the hash of
    settings, seed, inputs and code. On several processes: `torchrun --nproc-per-node 2 -m pipeline.stages.imitate ...`;
    the settings' threads are then dealt out among them.
    """
    chosen = config.section(config.Imitator, settings)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    torch.set_num_threads(max(1, chosen.threads // world))
    if world > 1:
        distributed.init_process_group("gloo")
    inputs = [encodings, instructions, dags, training, development]
    checkpoint = Checkpoint("pipeline.models.imitation", f"{settings}\n{seed}", inputs)
    resume: State | None = checkpoint.load()
    if resume is not None:
        print(f"resuming at step {resume['step']} of {chosen.steps}", file=sys.stderr)
    held = store.load(instructions, dags)
    network, rows = train(
        held,
        known.load(encodings),
        load(training, held),
        load(development, held),
        chosen,
        seed,
        resume,
        checkpoint.save,
    )
    if world > 1 and distributed.get_rank() > 0:
        return
    network.save(weights)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.remove()


if __name__ == "__main__":
    run(main)
