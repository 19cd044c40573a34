"""Put the best trained network for whole graphs into the package, with its model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.config.section import section
from pipeline.config.whole_graph import Generalised
from pipeline.graphs.models.whole_graph.files import SHIPPED, load
from pipeline.report.whole_graph_card import best, card
from pipeline.stages import options
from pipeline.stages.shipping import put, small_enough, trainings


def main(
    settings: options.Settings,
    weights: Annotated[list[Path], typer.Option(help="Weights of one network's trainings, in the pipeline's layout.")],
    history: options.Tables,
    results: options.Table,
    methods: Annotated[list[str], typer.Option(help="Methods that use the network, for the card.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights and README.md.")] = SHIPPED.parent,
) -> None:
    """Choose the training with the best schedules of development graphs; copy its weights, write the card beside them.

    Raises ValueError for weights of several networks, without their history, or too large to ship.
    """
    every = trainings(weights, history, "whole_graph_history")
    chosen = best({seed: training.history for seed, training in every.items()})
    shipped = every[next(iter(chosen))].weights
    content = small_enough(shipped)
    measured = tables.read("results", results)
    measured = measured[measured["method"].isin(methods)]
    text = card(SHIPPED.name, load(shipped), len(content), chosen, section(Generalised, settings), measured)
    put(content, text, out / SHIPPED.name)
