"""Freeze an imitation's numbers as CSV files beside the report: results, their parts, training histories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.exactness import DEPENDENCIES
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.stages.command import run
from pipeline.stages.gather import columns, place

SPLIT = "training"  # of the rows that say how large a network is and what it was trained on


def main(
    experiment: Annotated[str, typer.Option(help="Name in params.yaml's imitations.")],
    results: Annotated[Path, typer.Option(help="Table `results` of the imitation.")],
    parts: Annotated[Path, typer.Option(help="Table `parts` of the imitation.")],
    histories: Annotated[list[Path], typer.Option(help="Tables `history` of its trainings.")],
    weights: Annotated[list[Path], typer.Option(help="Weights of its trainings.")],
    training: Annotated[list[Path], typer.Option(help="Tables `sets` that it was trained on, named {set}.parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for <experiment>.csv, _parts.csv and _history.csv.")],
) -> None:
    """Freeze an imitation's numbers beside the report: it is trained once and its numbers are committed.

    The size of every network, of its file and of its training set become rows of the results, split `training`.
    Six significant digits; every file is written whole or not at all.
    """
    measured = pd.concat([tables.read("results", results), _sizes(experiment, sorted(weights), training)])
    frames: dict[str, pd.DataFrame] = {
        f"{experiment}.csv": measured.sort_values(tidy.COLUMNS[:7]),
        f"{experiment}_parts.csv": tables.read("parts", parts),
        f"{experiment}_history.csv": pd.concat(map(_history, sorted(histories))),
    }
    for name, frame in frames.items():
        with tables.replacing(out / name) as temporary:
            temporary.write_text(tidy.csv(frame))


def _history(path: Path) -> pd.DataFrame:
    names = place(path, "imitator_history")
    return tables.read("history", path).assign(dependencies=DEPENDENCIES, **names)[columns("history")]


def _sizes(experiment: str, weights: list[Path], training: list[Path]) -> pd.DataFrame:
    """Rows of results: parameters, bytes of the file and training blocks of every model, means over its seeds."""
    n_blocks = {path.stem: tables.RowGroups("sets", path).n_rows for path in training}
    rows = []
    for path in weights:
        network = OrderingNetwork.load(path)
        settings = network.settings
        drawn = min(n_blocks[settings.training], settings.blocks or n_blocks[settings.training])
        sizes = {
            "parameters": sum(weight.numel() for weight in network.parameters()),
            "weights_bytes": path.stat().st_size,
            "train_blocks": drawn,
        }
        model = place(path, "imitator_weights")["model"]
        rows += [(model, metric, float(value), drawn) for metric, value in sizes.items()]
    found = pd.DataFrame(rows, columns=["scheduler", "metric", "value", "n_blocks"])
    means = found.groupby(["scheduler", "metric"], as_index=False).agg({"value": "mean", "n_blocks": "max"})
    fixed = {"experiment": experiment, "dependencies": DEPENDENCIES, "split": SPLIT, "decoder": "none", "seed": "all"}
    return means.assign(**fixed, ci_low=np.nan, ci_high=np.nan)[tidy.COLUMNS]


if __name__ == "__main__":
    run(main)
