"""Train one network for blocks of all lengths with one seed: on GCC's orders, or on best ones."""

from __future__ import annotations

import os
import sys
from itertools import chain
from pathlib import Path

import pandas as pd
import torch
from torch import distributed

from pipeline import tables
from pipeline.blocks.latency.costs import processor
from pipeline.blocks.models.ordering_training import State, train
from pipeline.blocks.problems import instructions as known
from pipeline.blocks.problems import store
from pipeline.blocks.problems.processors import taught
from pipeline.blocks.problems.sample import load
from pipeline.config.ordering import Ordering, modules
from pipeline.config.section import section
from pipeline.learning.checkpoints import Checkpoint
from pipeline.stages import options


def main(
    settings: options.Settings,
    seed: options.Seed,
    encodings: options.Encodings,
    instructions: options.Instructions,
    dags: options.Dags,
    training: options.Training,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
    machine: options.SomeTables = None,
    best_training: options.SomeTables = None,
    best_development: options.SomeTables = None,
) -> None:
    """Train a network on GCC's orders, or on the best ones found on processor models, and keep the best state.

    The best is the one of the lowest loss on the development blocks. Tables of `machine` (machine_instructions) and of
    best orders (optima) are in the sequence of settings.machines.

    An interrupted training goes on from its last measurement: the state lies in .cache/checkpoints under the hash of
    settings, seed, inputs and code. On several processes: `torchrun --nproc-per-node 2 -m
    pipeline.stages train_ordering ...`; the settings' threads are then dealt out among them.
    """
    chosen = section(Ordering, settings)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    torch.set_num_threads(max(1, chosen.threads // world))
    if world > 1:
        distributed.init_process_group("gloo")
    optional = chain(machine or [], best_training or [], best_development or [])
    inputs = [encodings, instructions, dags, training, development, *optional]
    code = ["pipeline.blocks.models.ordering_training", *modules(chosen)]
    checkpoint = Checkpoint(code, f"{settings}\n{seed}", inputs)
    resume: State | None = checkpoint.load()
    if resume is not None:
        print(f"resuming at step {resume['step']} of {chosen.steps}", file=sys.stderr)
    held, distinct = store.load(instructions, dags), known.load(encodings)
    learned, measured = load(training, held), load(development, held)
    if machine:
        chips = [processor(tables.arrow("machine_instructions", path)) for path in machine]
        orders = [[_orders(path) for path in best or []] for best in (best_training, best_development)]
        held, distinct, (learned, measured) = taught(held, distinct, chips, [learned, measured], orders)
    network, rows = train(held, distinct, learned, measured, chosen, seed, resume, checkpoint.save)
    if world > 1 and distributed.get_rank() > 0:
        return
    network.save(weights)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.remove()


def _orders(path: Path) -> pd.Series:
    best = tables.read("optima", path, ["block_id", "order"])
    return pd.Series(list(best["order"]), best["block_id"])
