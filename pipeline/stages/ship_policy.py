"""Put the best trained policy for computation graphs into the package, with its model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import places, tables
from pipeline.config.graph_methods.gflownet import Settings
from pipeline.graphs.models import SHIPPED
from pipeline.graphs.models.policy import load
from pipeline.report.policy_card import best, card
from pipeline.stages import options

_LARGEST = 5_000_000  # bytes


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
    said = [places.place(path, "network_weights") for path in weights]
    if len(networks := sorted({place["model"] for place in said})) > 1:
        raise ValueError(f"weights of several networks ({', '.join(networks)}): give those of the one to ship")
    by_seed = {place["seed"]: path for place, path in zip(said, weights, strict=True)}
    histories = {places.place(path, "policy_history")["seed"]: tables.read("policy_history", path) for path in history}
    if strange := sorted(set(by_seed) ^ set(histories)):
        raise ValueError(f"seeds {', '.join(strange)} have weights or a history alone: give both of every training")
    chosen = best(histories)
    shipped = by_seed[next(iter(chosen))]
    content = shipped.read_bytes()
    if len(content) > _LARGEST:
        raise ValueError(f"{len(content)} bytes of weights, at most {_LARGEST} are shipped: a smaller network, please")
    measured = tables.read("results", results)
    measured = measured[measured["method"].isin(methods)]
    most = Settings(method="gflownet").most_operations
    text = card(SHIPPED.name, load(shipped), len(content), chosen, measured, most)
    out.mkdir(parents=True, exist_ok=True)
    with tables.replacing(out / SHIPPED.name) as temporary:
        temporary.write_bytes(content)
    with tables.replacing(out / "README.md") as temporary:
        temporary.write_text(text)
