"""Put the best trained policy for computation graphs into the package, with its model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.config.graph_methods.gflownet import Settings
from pipeline.graphs.models import SHIPPED
from pipeline.graphs.models.policy import load
from pipeline.report.policy_card import best, card
from pipeline.stages import options
from pipeline.stages.shipping import put, small_enough, trainings


def main(
    weights: Annotated[list[Path], typer.Option(help="Weights of one network's trainings, in the pipeline's layout.")],
    history: options.Tables,
    results: options.Table,
    methods: Annotated[list[str], typer.Option(help="Methods that use the network, for the card.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights and README.md.")] = SHIPPED.parent,
) -> None:
    """Choose the training with the best schedules of development graphs; copy its weights, write the card beside them.

    Raises ValueError for weights of several networks, without their history, or too large to ship.
    """
    every = trainings(weights, history, "policy_history")
    chosen = best({seed: training.history for seed, training in every.items()})
    shipped = every[next(iter(chosen))].weights
    content = small_enough(shipped)
    measured = tables.read("results", results)
    measured = measured[measured["method"].isin(methods)]
    most = Settings(method="gflownet").most_operations
    text = card(SHIPPED.name, load(shipped), len(content), chosen, measured, most)
    put(content, text, out / SHIPPED.name)
