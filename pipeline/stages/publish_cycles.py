"""Freeze the comparison of schedulers on processor models as CSV files beside the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.cycles import EXPERIMENT
from pipeline.stages.command import run


def main(
    results: Annotated[Path, typer.Option(help="Table results of stage evaluate_cycles.")],
    by_length: Annotated[Path, typer.Option(help="Table cycles_by_length.")],
    examples: Annotated[Path, typer.Option(help="Table scheduling_examples.")],
    out: Annotated[Path, typer.Option(help="Folder for latency.csv, latency_length.csv and latency_examples.csv.")],
) -> None:
    """Write six significant digits; every file whole or not at all."""
    frames = {
        f"{EXPERIMENT}.csv": tables.read("results", results).sort_values(tidy.COLUMNS[:7]),
        f"{EXPERIMENT}_length.csv": tables.read("cycles_by_length", by_length),
        f"{EXPERIMENT}_examples.csv": tables.read("scheduling_examples", examples),
    }
    for name, frame in frames.items():
        with tables.replacing(out / name) as temporary:
            temporary.write_text(tidy.csv(frame))


if __name__ == "__main__":
    run(main)
