"""Put the best training of a network into the package, with its model card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import typer

from learned_schedulers.files import replacing
from learned_schedulers.graphs.methods.gflownet import Settings
from learned_schedulers.learning.weights import DIGESTS, digests
from pipeline.corpus.tables import SETS
from pipeline.lab import chapters, places, tables
from pipeline.lab.page.model_cards import SHIPPED, Shipped, card
from pipeline.lab.shared_tables import RESULTS
from pipeline.lab.stages import options

LARGEST = 5_000_000  # bytes of weights in the repository


def main(
    kind: Annotated[str, typer.Option(help=f"Which network: {', '.join(SHIPPED)}.")],
    weights: Annotated[list[Path], typer.Option(help="Of one network's trainings, in the pipeline's layout.")],
    history: options.Tables,
    results: options.SomeTable = None,
    methods: Annotated[list[str] | None, typer.Option(help="That use it, for the card; default: its name.")] = None,
    training: Annotated[Path | None, typer.Option(help="Table sets, the blocks that it learned from.")] = None,
    facts: Annotated[str, typer.Option(help="JSON of what else the card tells.")] = "{}",
    out: Annotated[Path | None, typer.Option(help="Folder for the weights and README.md.")] = None,
) -> None:
    """Copy the weights of the training that was best on the development set; write their digests and the card beside.

    Raises ValueError for what cannot be shipped.
    """
    shipped = SHIPPED[kind]
    best = best_training(weights, history, shipped)
    network = shipped.load(best.weights)
    more = json.loads(facts)
    if training is not None:
        more["blocks"] = tables.RowGroups(SETS, training).n_rows
    rows = None if results is None else tables.read(RESULTS, results)
    if rows is not None:
        rows = rows[rows["method"].isin(methods or [best.model])]
    if kind == "imitator" and rows is not None:
        rows = rows[rows["seed"] == next(iter(best.measurements))]
    if kind == "policy":
        more["most"] = Settings(method="gflownet").most_operations
    content = {shipped.file.name: best.weights.read_bytes()}
    size, listed = len(content[shipped.file.name]), digests(content)
    content[DIGESTS] = listed.encode()
    content["README.md"] = card(kind, network, size, best.measurements, rows, **more).encode()
    folder = shipped.file.parent if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in content.items():
        with replacing(folder / name) as temporary:
            temporary.write_bytes(written)


class Best(NamedTuple):
    """The training to ship."""

    model: str
    measurements: dict[str, pd.Series]  # seed -> the row by which it is judged, the best seed first
    weights: Path


def best_training(weights: Sequence[Path], history: Sequence[Path], shipped: Shipped) -> Best:
    """The best training of one network. Files lie in the pipeline's layout.

    Raises ValueError for weights of several networks, without their history, or too large to ship.
    """
    named = [places.place(path, shipped.weights) for path in weights]
    if len(networks := sorted({place["model"] for place in named})) > 1:
        raise ValueError(f"weights of several networks ({', '.join(networks)}): give those of the one to ship")
    by_seed = {place["seed"]: path for place, path in zip(named, weights, strict=True)}
    kind = shipped.history
    histories = {places.place(path, kind)["seed"]: tables.read(chapters.tables()[kind], path) for path in history}
    if incomplete := sorted(set(by_seed) ^ set(histories)):
        raise ValueError(f"seeds {', '.join(incomplete)} have weights or a history alone: give both of every training")
    measurements = shipped.best({seed: histories[seed] for seed in by_seed})
    path = by_seed[next(iter(measurements))]
    if (size := path.stat().st_size) > LARGEST:
        raise ValueError(f"{size} bytes of weights, at most {LARGEST} are shipped: train a smaller network")
    return Best(networks[0], measurements, path)
