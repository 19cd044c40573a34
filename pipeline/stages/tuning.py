"""Freeze what was tried on the development split as a CSV file beside the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.config.experiments import Trials
from pipeline.config.section import section
from pipeline.stages import options
from pipeline.stages.command import run


def main(
    settings: options.Settings,
    histories: Annotated[list[Path], typer.Option(help="Tables `history`, named by the trial.")],
    out: Annotated[Path, typer.Option(help="CSV file: a row for each trial, its settings and how it ended.")],
) -> None:
    """Write how every trial of params.yaml ended on the development split."""
    chosen = section(Trials, settings)
    by_name = {path.stem: path for path in histories}
    rows = []
    for name, model in chosen.models.items():
        history = tables.read("history", by_name[name])
        last = history[history.split == "development"].iloc[-1]
        ends = {"exact_match": last.exact_match, "valid_share": last.valid_share}
        rows.append({"trial": name, "dependencies": chosen.dependencies, "seed": chosen.seed, **dict(model), **ends})
    with tables.replacing(out) as temporary:
        temporary.write_text(tidy.csv(pd.DataFrame(rows)))


if __name__ == "__main__":
    run(main)
