"""Freeze what the execution oracle found as CSV files beside the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.blocks.execution import summary
from pipeline.stages.command import run


def main(
    verification: Annotated[Path, typer.Option(help="Table verification.")],
    sensitivity: Annotated[Path, typer.Option(help="Table sensitivity.")],
    out: Annotated[Path, typer.Option(help="Folder for dag_verification.csv and its breakdowns.")],
) -> None:
    """Summarise the oracle's tables; six significant digits, every file written whole or not at all."""
    verdicts, swaps = tables.read("verification", verification), tables.read("sensitivity", sensitivity)
    for suffix, frame in {
        "": summary.results(verdicts, swaps),
        "_strata": summary.strata(verdicts),
        "_reasons": summary.reasons(verdicts),
        "_sensitivity": summary.kinds(swaps),
        "_explanations": summary.explanations(swaps),
    }.items():
        with tables.replacing(out / f"{summary.EXPERIMENT}{suffix}.csv") as temporary:
            temporary.write_text(tidy.csv(frame))


if __name__ == "__main__":
    run(main)
