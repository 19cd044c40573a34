"""Put the best trained network for whole graphs into the package, with its model card."""

from __future__ import annotations

from pipeline import tables
from pipeline.config.section import section
from pipeline.config.whole_graph import Generalised
from pipeline.graphs.models.whole_graph.network import SHIPPED, load
from pipeline.report.whole_graph_card import best, card
from pipeline.stages import options
from pipeline.stages.shipping import best_training, install


def main(
    settings: options.Settings,
    weights: options.Trainings,
    history: options.Tables,
    results: options.Table,
    methods: options.UsingMethods,
    out: options.Package = SHIPPED.parent,
) -> None:
    """Put the training with the best schedules of development graphs into the package, and the card beside it."""
    shipped = best_training(weights, history, "whole_graph_history", best)
    measured = tables.read("results", results)
    measured = measured[measured["method"].isin(methods)]
    network, size = load(shipped.weights), len(shipped.content)
    text = card(SHIPPED.name, network, size, shipped.measurements, section(Generalised, settings), measured)
    install(shipped.content, text, out / SHIPPED.name)
