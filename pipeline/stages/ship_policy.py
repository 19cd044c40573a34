"""Put the best trained policy for computation graphs into the package, with its model card."""

from __future__ import annotations

from pipeline import tables
from pipeline.graphs.models import SHIPPED
from pipeline.graphs.models.policy import load
from pipeline.graphs.schedulers.gflownet import Settings
from pipeline.report.policy_card import best, card
from pipeline.stages import options
from pipeline.stages.shipping import best_training, install


def main(
    weights: options.Trainings,
    history: options.Tables,
    results: options.Table,
    methods: options.UsingMethods,
    out: options.Package = SHIPPED.parent,
) -> None:
    """Put the training with the best schedules of development graphs into the package, and the card beside it."""
    shipped = best_training(weights, history, "policy_history", best)
    measured = tables.read("results", results)
    measured = measured[measured["method"].isin(methods)]
    network, most = load(shipped.weights), Settings(method="gflownet").most_operations
    text = card(SHIPPED.name, network, len(shipped.content), shipped.measurements, measured, most)
    install(shipped.content, text, out / SHIPPED.name)
