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
from pipeline.lab import published, runs, tables, tidy
from pipeline.lab.claims import ALIKE, CHANGED, FOR_PEOPLE, declared, table
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
    settings_now: Annotated[str, typer.Option(help="JSON: experiment -> its present settings.")] = "{}",
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
    made_now = {name for frame in fresh for name in frame["experiment"]}
    settings = {
        origin.experiment: origin.settings
        for origin in origins
        if not (origin.frozen or isinstance(origin.settings, str))
    }
    settings |= {name: now[name] for name in made_now & {*now}}
    logged = [runs.methods(name, keys, merged[merged["experiment"] == name]) for name, keys in settings.items()]
    merged = pd.concat([merged, _counted(for_people, states.values(), logged)])
    gone = {origin.experiment: origin.frozen_methods for origin in origins}
    states = {name: word for name, word in states.items() if name not in made_now}
    with replacing(metrics) as temporary:
        temporary.write_text(json.dumps(for_people, indent=1, sort_keys=True) + "\n")
    with replacing(out) as temporary:
        temporary.write_text(tidy.csv(table(merged, declared(), states, gone)))


def _counted(metrics: tidy.Metrics, states: Collection[str], logged: Collection[list[runs.Run]]) -> pd.DataFrame:
    """Rows of results: metrics for people, published experiments that today's code would change, and runs alike."""
    place = {"experiment": "published", "seed": "all", "unit": "count"}
    shown = [len(numbers) for methods in metrics.values() for numbers in methods.values()]
    counts = [row(place, FOR_PEOPLE, float(sum(shown)), n=len(shown))] if shown else []
    if states:
        changed = sum(state == "changed" for state in states)
        counts.append(row(place, CHANGED, float(changed), n=len(states)))
    alike = sum(map(runs.equal_parameters, logged))
    counts.append(row(place, ALIKE, float(alike), n=sum(map(len, logged))))
    return rows_of(counts)
