"""Check every claim of the paper, and every claim of ours, against the tables of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from learned_schedulers.files import replacing
from pipeline.lab import behaviour as behaviours
from pipeline.lab import published, tables, tidy
from pipeline.lab.claims import CHANGED, declared, table
from pipeline.lab.provenance import Provenance, changes
from pipeline.lab.rows import results as rows_of
from pipeline.lab.rows import row
from pipeline.lab.shared_tables import RESULTS
from pipeline.lab.stages import options


def main(
    out: Annotated[Path, typer.Option(help="CSV file to write: reports/claims.csv.")],
    behaviour: options.Behaviour,
    results: options.SomeTables = None,
    folders: options.Published = None,
    settings_now: Annotated[str, typer.Option(help="JSON: published experiment -> its present settings.")] = "{}",
) -> None:
    """Write a row for each claim: target, value, interval, whether it holds, and the row of results behind it.

    Fresh results replace published ones of the same experiment.
    """
    fresh = [tables.read(RESULTS, path) for path in results or []]
    paths = [folder / "results.csv" for folder in folders or []]
    frozen = [published.read(RESULTS, path) for path in paths if path.exists()]  # trials have no results
    empty = RESULTS.schema.empty_table().to_pandas()
    merged = tidy.merge(pd.concat([*fresh, empty]), pd.concat([*frozen, empty]))
    merged = pd.concat([merged, _changed(folders or [], behaviours.read(behaviour), json.loads(settings_now))])
    with replacing(out) as temporary:
        temporary.write_text(tidy.csv(table(merged, declared())))


def _changed(folders: list[Path], tables_now: dict[str, str], settings_now: dict[str, Any]) -> pd.DataFrame:
    """Row of results: published experiments to which today's code would give other numbers."""
    origins = [Provenance.read(folder / published.PROVENANCE) for folder in folders]
    changed = [bool(changes(origin, tables_now, settings_now.get(origin.experiment))) for origin in origins]
    place = {"experiment": "published", "seed": "all", "unit": "count"}
    return rows_of([row(place, CHANGED, float(sum(changed)), n=len(changed))] if changed else [])
