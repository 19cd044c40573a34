"""Freeze an experiment's results, training histories and sweeps as CSV files beside the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.stages.command import run
from pipeline.stages.gather import columns, gather


def main(
    experiment: Annotated[str, typer.Option(help="Name in params.yaml.")],
    results: Annotated[Path, typer.Option(help="Table `results` of the experiment.")],
    histories: Annotated[list[Path], typer.Option(help="Tables `history` of its trainings.")],
    sweeps: Annotated[list[Path], typer.Option(help="Tables `sweep` of its seeds.")],
    out: Annotated[Path, typer.Option(help="Folder for <experiment>.csv, _history.csv and _sweep.csv.")],
) -> None:
    """Freeze an experiment's results beside the report.

    A long experiment is run once and its numbers are committed: later reports show them beside fresh
    ones without running it again. Six significant digits; every file is written whole or not at all.
    """
    frames: dict[str, pd.DataFrame] = {
        f"{experiment}.csv": tables.read("results", results),
        f"{experiment}_history.csv": gather("history", sorted(histories))[columns("history")],
        f"{experiment}_sweep.csv": gather("sweep", sorted(sweeps))[columns("sweep")],
    }
    for name, frame in frames.items():
        with tables.replacing(out / name) as temporary:
            temporary.write_text(tidy.csv(frame))


if __name__ == "__main__":
    run(main)
