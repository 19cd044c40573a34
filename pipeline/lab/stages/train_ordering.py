"""Train one network for blocks of all lengths on GCC's orders with one seed."""

from __future__ import annotations

from functools import partial

from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.ordering_settings import Ordering
from learned_schedulers.blocks.models.ordering_training import train
from learned_schedulers.learning import processes
from learned_schedulers.section import section
from pipeline.lab.shared_tables import HISTORY
from pipeline.lab.stages import options
from pipeline.lab.stages.training import Outputs, trained
from pipeline.lab.stored_blocks import load_encodings, load_sample, load_store


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
) -> None:
    """Train a network on GCC's orders; write its best state, with the lowest loss on the development blocks.

    An interrupted training continues from its last measurement (stages/training.py). `torchrun --nproc-per-node 2 -m
    pipeline train_ordering ...` trains by several processes, which share the settings' threads.
    """
    chosen = section(Ordering, settings)
    block_store, distinct = load_store(instructions, dags), load_encodings(encodings)
    learned, measured = load_sample(training, block_store), load_sample(development, block_store)
    trained(
        partial(train, block_store, distinct, learned, measured, chosen, seed),
        OrderingNetwork.save,
        Outputs(weights, history, HISTORY),
        ["learned_schedulers.blocks.models.ordering_training"],
        f"{settings}\n{seed}",
        [encodings, instructions, dags, training, development],
        chosen.threads,
    )
