"""Put the best trained imitator into the package, with its model card."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from pipeline import tables
from pipeline.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from pipeline.report.model_card import best, card
from pipeline.stages import options
from pipeline.stages.shipping import best_training, install


def main(
    weights: options.Trainings,
    history: options.Tables,
    results: options.Table,
    training: options.Training,
    sources: Annotated[str, typer.Option(help="Names of its sources, as a JSON list.")],
    out: options.Package = SHIPPED.parent,
) -> None:
    """Choose the training with the lowest development loss; copy its weights and write the card beside them."""
    shipped = best_training(weights, history, "history", best, "weights")
    measured = tables.read("results", results)
    measured = measured[measured["method"] == shipped.model]
    network, size = OrderingNetwork.load(shipped.weights), len(shipped.content)
    n_blocks = tables.RowGroups("sets", training).n_rows
    text = card(SHIPPED.name, network, size, shipped.measurements, measured, n_blocks, json.loads(sources))
    install(shipped.content, text, out / SHIPPED.name)
