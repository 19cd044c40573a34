"""Train one network that gives operations slots, with one seed."""

from __future__ import annotations

import sys
from itertools import chain

import pandas as pd
import torch

from pipeline import tables
from pipeline.config.section import section
from pipeline.config.slot_network import SlotNetwork
from pipeline.graphs.models.best_orders import read_best_orders
from pipeline.graphs.models.slot_training import Example, State, train
from pipeline.learning.checkpoints import Checkpoint
from pipeline.stages import options


def main(
    settings: options.Settings,
    seed: options.Seed,
    training: options.Tables,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on best known orders, tables job_examples, and keep what was best on the development graphs.

    An interrupted training goes on from its last measurement: the state lies in .cache/checkpoints
    under the hash of settings, seed, inputs and code.
    """
    chosen = section(SlotNetwork, settings)
    torch.set_num_threads(1)  # one core each: the numbers must not depend on how many jobs run beside
    inputs = [*training, development]
    checkpoint = Checkpoint(["pipeline.graphs.models.slot_training"], f"{settings}\n{seed}", inputs)
    resume: State | None = checkpoint.load()
    if resume is not None:
        print(f"resuming at step {resume['step']} of {chosen.steps}", file=sys.stderr)
    *learned, watched = (
        [Example.of(known.problem, known.order) for known in read_best_orders(path, chosen.most_operations)]
        for path in inputs
    )
    network, rows = train(list(chain.from_iterable(learned)), watched, chosen, seed, resume, checkpoint.save)
    network.save(weights)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.remove()
