"""Train one network that assigns slots to operations, with one seed."""

from __future__ import annotations

from itertools import chain

import pandas as pd

from pipeline import tables
from pipeline.config.section import section
from pipeline.config.slot_network import SlotNetwork
from pipeline.graphs.models.best_orders import read_best_orders
from pipeline.graphs.models.slot_training import Example, train
from pipeline.learning import processes
from pipeline.stages import options
from pipeline.stages.training import resumed


@processes.group()
def main(
    settings: options.Settings,
    seed: options.Seed,
    training: options.Tables,
    development: options.Table,
    weights: options.Out,
    history: options.Out,
) -> None:
    """Train a network on best known orders, tables job_examples; write its best state on the development graphs.

    An interrupted training continues from its last measurement (stages/training.py).
    """
    chosen = section(SlotNetwork, settings)
    inputs = [*training, development]
    checkpoint, state = resumed(["pipeline.graphs.models.slot_training"], f"{settings}\n{seed}", inputs, chosen.steps)
    *learned, watched = (
        [Example.of(example.problem, example.order) for example in read_best_orders(path, chosen.most_operations)]
        for path in inputs
    )
    network, rows = train(list(chain.from_iterable(learned)), watched, chosen, seed, state, checkpoint.save)
    if not processes.is_first():
        return
    network.save(weights)
    tables.write(pd.DataFrame(rows), "history", history)
    checkpoint.remove()
