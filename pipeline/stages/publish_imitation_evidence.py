"""Freeze what bounds imitators as CSV files beside the report: ceiling, twins, wrong blocks, audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.stages.command import run
from pipeline.stages.gather import columns, gather, place


def main(
    ceiling: Annotated[Path, typer.Option(help="Table ceiling.")],
    twins: Annotated[Path, typer.Option(help="Table twins.")],
    audit: Annotated[Path, typer.Option(help="Table audit.")],
    errors: Annotated[Path, typer.Option(help="Table errors, wrong blocks one by one.")],
    shares: Annotated[Path, typer.Option(help="Table error_shares of the same blocks.")],
    out: Annotated[
        Path, typer.Option(help="Folder for imitation_ceiling.csv, _twins, _audit, _errors, _error_blocks.")
    ],
) -> None:
    """Freeze the evidence on the main experiment's imitators: it is measured once and its numbers are committed.

    Whose wrong blocks they are becomes columns: model, set, seed. Six significant digits; every file is written whole
    or not at all. Raises ValueError where errors and shares are of different runs, TableError for a damaged table.
    """
    if place(errors, "errors") != place(shares, "error_shares"):
        raise ValueError(f"{errors} and {shares} are of different runs; name the two tables of one run")
    blocks = gather("errors", [errors])
    frames: dict[str, pd.DataFrame] = {
        "imitation_ceiling": tables.read("ceiling", ceiling),
        "imitation_twins": tables.read("twins", twins),
        "imitation_audit": tables.read("audit", audit),
        "imitation_errors": gather("error_shares", [shares]),
        "imitation_error_blocks": blocks.assign(holds=blocks["holds"].map("; ".join)),
    }
    for name, frame in frames.items():
        with tables.replacing(out / f"{name}.csv") as temporary:
            temporary.write_text(tidy.csv(frame[columns(name)]))


if __name__ == "__main__":
    run(main)
