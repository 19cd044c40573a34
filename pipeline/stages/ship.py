"""Put the best trained imitator into the package, with its model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pipeline import places, tables
from pipeline.blocks.models.ordering_network import SHIPPED, OrderingNetwork
from pipeline.report.model_card import best, card
from pipeline.stages import options

_LARGEST = 5_000_000  # bytes


def main(
    weights: Annotated[list[Path], typer.Option(help="Weights of one model's trainings, in the pipeline's layout.")],
    history: options.Tables,
    results: options.Table,
    training: options.Training,
    sources: Annotated[str, typer.Option(help="Names of its sources, as a JSON list.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights and README.md.")] = SHIPPED.parent,
) -> None:
    """Choose the training with the lowest development loss; copy its weights and write the card beside them.

    Raises ValueError for weights of several models, or too large to ship.
    """
    by_seed = {places.place(path, "weights")["seed"]: path for path in weights}
    models = {places.place(path, "weights")["model"] for path in weights}
    if len(models) > 1:
        raise ValueError(f"weights of several models ({', '.join(sorted(models))}): give those of the one to ship")
    chosen = best({places.place(path, "history")["seed"]: tables.read("history", path) for path in history})
    content = by_seed[next(iter(chosen))].read_bytes()
    if len(content) > _LARGEST:
        raise ValueError(f"{len(content)} bytes of weights, at most {_LARGEST} are shipped: a smaller network, please")
    measured = tables.read("results", results)
    measured = measured[measured["method"].isin(models)]
    network = OrderingNetwork.load(by_seed[next(iter(chosen))])
    n_blocks = tables.RowGroups("sets", training).n_rows
    text = card(SHIPPED.name, network, len(content), chosen, measured, n_blocks, json.loads(sources))
    out.mkdir(parents=True, exist_ok=True)
    with tables.replacing(out / SHIPPED.name) as temporary:
        temporary.write_bytes(content)
    with tables.replacing(out / "README.md") as temporary:
        temporary.write_text(text)
