"""Answer every claim of the paper, and of ours, by the tables of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pipeline import tables
from pipeline.analysis import published, tidy
from pipeline.analysis.claims import table
from pipeline.stages import options


def main(
    out: Annotated[Path, typer.Option(help="CSV file to write: reports/claims.csv.")],
    results: options.SomeTables = None,
    folders: options.Published = None,
) -> None:
    """Write one row for each claim: target, value, interval, whether it holds, and the row that says so.

    Fresh experiments stand for published ones of the same name.
    """
    fresh = [tables.read("results", path) for path in results or []]
    paths = [folder / "results.csv" for folder in folders or []]
    frozen = [published.read("results", path) for path in paths if path.exists()]  # trials, for one, have none
    empty = tables.SCHEMAS["results"].empty_table().to_pandas()
    both = tidy.merge(pd.concat([*fresh, empty]), pd.concat([*frozen, empty]))
    with tables.replacing(out) as temporary:
        temporary.write_text(tidy.csv(table(both)))
