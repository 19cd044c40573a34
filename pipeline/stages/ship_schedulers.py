"""Put the policies and the best network that order blocks for processors into the package, with their model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pipeline import places, tables
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.ordering.methods import LEARNED, NETWORK, SHIPPED, policy_file
from pipeline.blocks.schedulers.policy import load
from pipeline.report.model_card import best
from pipeline.report.scheduler_card import card
from pipeline.stages import options
from pipeline.stages.shipping import best_training, install


def main(
    weights: options.Trainings,
    history: options.Tables,
    policies: Annotated[list[Path], typer.Option(help="Weights of the policy of each processor.")],
    training: options.Training,
    sources: Annotated[str, typer.Option(help="Names of its sources, as a JSON list.")],
    policy_blocks: Annotated[int, typer.Option(help="Number of blocks that each policy learned from.")],
    out: options.Package = SHIPPED,
) -> None:
    """Copy each policy, and the network with the lowest development loss; write the card beside them."""
    shipped = best_training(weights, history, "history", best, "weights")
    network = OrderingNetwork.load(shipped.weights)
    if tuple(network.settings.machines) != LEARNED:
        raise ValueError(f"the network learned {network.settings.machines}; correct LEARNED in ordering/methods.py")
    by_target = {places.place(path, "policies")["target"]: path for path in policies}
    n_blocks = {"network": tables.RowGroups("sets", training).n_rows, "policy": policy_blocks}
    preferences = {target: load(path) for target, path in by_target.items()}
    text = card(network, len(shipped.content), shipped.measurements, preferences, n_blocks, json.loads(sources))
    for target, path in by_target.items():
        install(path.read_bytes(), text, out / policy_file(target).name)
    install(shipped.content, text, out / NETWORK.name)
