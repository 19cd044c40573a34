"""Train one network for blocks of all lengths with one seed: on GCC's orders, or on the best ones."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path

import pandas as pd

from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.ordering_settings import Ordering, modules
from learned_schedulers.blocks.models.ordering_training import train
from learned_schedulers.blocks.problems.processors import with_targets
from learned_schedulers.blocks.processors.costs import processor
from learned_schedulers.learning import processes
from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.shared_tables import HISTORY
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained
from pipeline.lab.stored_blocks import load_encodings, load_sample, load_store
from pipeline.processors.tables import MACHINE_INSTRUCTIONS, OPTIMA


@processes.group()
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
    """Train a network on GCC's orders, or on the best orders for processor models; write its best state.

    The best state has the lowest loss on the development blocks. Tables of `machine` (machine_instructions) and of
    best orders (optima) are in the sequence of settings.machines. An interrupted training continues from its last
    measurement (stages/training.py). `torchrun --nproc-per-node 2 -m pipeline train_ordering ...` trains by
    several processes, which share the settings' threads.
    """
    chosen = section(Ordering, settings)
    optional = chain(machine or [], best_training or [], best_development or [])
    block_store, distinct = load_store(instructions, dags), load_encodings(encodings)
    learned, measured = load_sample(training, block_store), load_sample(development, block_store)
    if machine:
        chips = [processor(tables.arrow(MACHINE_INSTRUCTIONS, path)) for path in machine]
        orders = [[_orders(path) for path in best or []] for best in (best_training, best_development)]
        samples = [learned, measured]
        block_store, distinct, (learned, measured) = with_targets(block_store, distinct, chips, samples, orders)
    trained(
        partial(train, block_store, distinct, learned, measured, chosen, seed),
        OrderingNetwork.save,
        Outputs(weights, history, HISTORY),
        ["learned_schedulers.blocks.models.ordering_training", *modules(chosen)],
        f"{settings}\n{seed}",
        [encodings, instructions, dags, training, development, *optional],
        chosen.threads,
    )


def _orders(path: Path) -> pd.Series:
    best = tables.read(OPTIMA, path, ["block_id", "order"])
    return pd.Series(list(best["order"]), best["block_id"])
