"""Freeze what was timed on hardware as CSV files beside the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.cycles import EXPERIMENT
from pipeline.stages.command import run


def main(
    results: Annotated[Path, typer.Option(help="Table results of stage evaluate_hardware.")],
    outcomes: Annotated[Path, typer.Option(help="Table hardware_outcomes.")],
    out: Annotated[Path, typer.Option(help="Folder for latency_hardware.csv and latency_hardware_outcomes.csv.")],
) -> None:
    """Write six significant digits; every file whole or not at all."""
    frames = {
        "": tables.read("results", results).sort_values(tidy.COLUMNS[:7]),
        "_outcomes": tables.read("hardware_outcomes", outcomes),
    }
    for suffix, frame in frames.items():
        with tables.replacing(out / f"{EXPERIMENT}_hardware{suffix}.csv") as temporary:
            temporary.write_text(tidy.csv(frame))


if __name__ == "__main__":
    run(main)
