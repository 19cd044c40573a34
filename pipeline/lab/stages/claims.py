"""Check every claim of the paper, and every claim of ours, against the tables of results."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from learned_schedulers.files import replacing
from pipeline.lab import behaviour as behaviours
from pipeline.lab import published, tables, tidy
from pipeline.lab.claims import CHANGED, FOR_PEOPLE, declared, table
from pipeline.lab.provenance import Provenance, kind, state
from pipeline.lab.rows import results as rows_of
from pipeline.lab.rows import row
from pipeline.lab.shared_tables import RESULTS
from pipeline.lab.stages import options


def main(
    out: Annotated[Path, typer.Option(help="CSV file to write: reports/claims.csv.")],
    metrics: Annotated[Path, typer.Option(help="JSON file to write: reports/metrics.json, for `dvc metrics`.")],
    behaviour: options.Behaviour,
    results: options.SomeTables = None,
    folders: options.Published = None,
    settings_now: Annotated[str, typer.Option(help="JSON: published experiment -> its present settings.")] = "{}",
) -> None:
    """Write a row for each claim: target, value, interval, whether it holds, and the row of results behind it.

    The main numbers of the fresh results go to `metrics`.

    Fresh results replace published ones of the same experiment.
    """
    fresh = [tables.read(RESULTS, path) for path in results or []]
    paths = [folder / "results.csv" for folder in folders or []]
    frozen = [published.read(RESULTS, path) for path in paths if path.exists()]  # trials have no results
    empty = RESULTS.schema.empty_table().to_pandas()
    measured = pd.concat([*fresh, empty])
    for_people = tidy.metrics_of(measured)
    merged = tidy.merge(measured, pd.concat([*frozen, empty]))
    tables_now, now = behaviours.read(behaviour), json.loads(settings_now)
    origins = [Provenance.read(folder / published.PROVENANCE) for folder in folders or []]
    states = {origin.experiment: kind(state(origin, tables_now, now.get(origin.experiment))) for origin in origins}
    merged = pd.concat([merged, _counted(for_people, states.values())])
    gone = {origin.experiment: origin.frozen_methods for origin in origins}
    made_now = {name for frame in fresh for name in frame["experiment"]}
    states = {name: word for name, word in states.items() if name not in made_now}
    with replacing(metrics) as temporary:
        temporary.write_text(json.dumps(for_people, indent=1, sort_keys=True) + "\n")
    with replacing(out) as temporary:
        temporary.write_text(tidy.csv(table(merged, declared(), states, gone)))


def _counted(metrics: tidy.Metrics, states: Collection[str]) -> pd.DataFrame:
    """Rows of results: metrics for people; published experiments to which today's code would give other numbers."""
    place = {"experiment": "published", "seed": "all", "unit": "count"}
    shown = [len(numbers) for methods in metrics.values() for numbers in methods.values()]
    counts = [row(place, FOR_PEOPLE, float(sum(shown)), n=len(shown))] if shown else []
    if states:
        changed = sum(state == "changed" for state in states)
        counts.append(row(place, CHANGED, float(changed), n=len(states)))
    return rows_of(counts)
