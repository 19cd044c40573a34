"""Train one network that assigns slots to operations, with one seed."""

from __future__ import annotations

from functools import partial
from itertools import chain

from pipeline.config.section import section
from pipeline.config.slot_network import SlotNetwork
from pipeline.graphs.models.best_orders import read_best_orders
from pipeline.graphs.models.slot_network import SlotNetwork as SlotNetworkModel
from pipeline.graphs.models.slot_training import Example, train
from pipeline.learning import processes
from pipeline.stages import options
from pipeline.stages.training import Outputs, trained


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
    *learned, watched = (
        [Example.of(example.problem, example.order) for example in read_best_orders(path, chosen.most_operations)]
        for path in inputs
    )
    trained(
        partial(train, list(chain.from_iterable(learned)), watched, chosen, seed),
        SlotNetworkModel.save,
        Outputs(weights, history, "history"),
        ["pipeline.graphs.models.slot_training"],
        f"{settings}\n{seed}",
        inputs,
    )
