"""Log experiments to MLflow: the only door to it. Its store is this folder's or, by `MLFLOW_TRACKING_URI`, a team's."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pipeline import digests, places, tables
from pipeline.analysis import behaviour as behaviours
from pipeline.analysis import provenance, published, runs
from pipeline.stages import experiment_tags, options, own_store, team_store
from pipeline.stages.gather import gather


def main(
    settings: options.Settings,
    log: Annotated[Path, typer.Option("--runs", help="JSON to write: names and fingerprints of the runs.")],
    results: options.SomeTables = None,
    history: options.SomeTables = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Of the same trainings as the histories.")] = None,
    splits: options.SomeTables = None,
    reports: Annotated[Path | None, typer.Option(help="Folder of the report.")] = None,
    behaviour: options.SomeBehaviour = None,
    folders: options.Published = None,
) -> None:
    """Log experiments to MLflow, each as one there: those of `results`, freshly evaluated, and published ones.

    An experiment has flat runs: each of its methods, each of its trainings, and one that carries its tables and, if the
    experiment is the first of a page of the report, that page. A published run says where its numbers come from.
    Running it again changes nothing: a run whose fingerprint is known stays, one whose content changed is
    replaced and removed for good. Runs with other parameters or data stay for comparison, tagged
    `state=superseded`. `make dashboard` shows them. With `MLFLOW_TRACKING_URI` they are logged to a team's store,
    where nothing of other people is removed (docs/team.md).
    """
    settings_now: dict[str, dict[str, Any]] = json.loads(settings)
    trained = {tuple(places.place(path, "weights").values()): path for path in weights or []}
    datasets = {places.place(path, "splits")["dependencies"]: digests.of_file(path) for path in splits or []}
    by_experiment: dict[str, list[runs.Run]] = {}
    for path in results or []:
        experiment, numbers = places.place(path, "results")["experiment"], tables.read("results", path)
        chosen = settings_now.get(experiment, {})
        by_experiment[experiment] = [
            *runs.methods(experiment, chosen, numbers),
            *(
                _trained(file, trained, datasets, chosen, numbers)
                for file in sorted(history or [])
                if places.place(file, "history")["experiment"] == experiment
            ),
            _whole(experiment, [path], reports),
        ]
    for folder in folders or []:
        if folder.name not in by_experiment:
            frozen = published.load([folder])
            origin, table = frozen.provenance[folder.name], frozen.tables
            by_experiment[folder.name] = runs.published(
                origin,
                {} if behaviour is None else behaviours.read(behaviour),
                settings_now.get(folder.name),
                *(table["results"], table["history"], table["policy_trainings"]),
                _whole(folder.name, sorted(folder.iterdir()), reports),
            )
    if by_experiment:  # without runs the store is not touched
        store = team_store if team_store.address() else own_store
        with store.opened() as client:
            for experiment, items in by_experiment.items():
                tags = experiment_tags.tags(experiment, settings_now.get(experiment, {}), items)
                store.track(client, experiment, tags, items, _origin_now)
    listing = [
        {"experiment": experiment, "name": item.name, "fingerprint": item.fingerprint}
        for experiment, items in by_experiment.items()
        for item in items
    ]
    with tables.replacing(log) as temporary:
        temporary.write_text(json.dumps({"runs": listing}, indent=1) + "\n")


def _trained(
    path: Path,
    weights: dict[tuple[str, ...], Path],
    datasets: dict[str, str],
    settings: dict[str, Any],
    results: pd.DataFrame,
) -> runs.Run:
    """The run of the freshly evaluated network whose history lies in `path`; datasets: dependencies -> SHA-256."""
    place, history = places.place(path, "history"), gather("history", [path])
    file, dataset = weights[tuple(place.values())], datasets.get(place["dependencies"])
    hashes = {"history": digests.of_file(path), "weights": digests.of_file(file)}
    run = runs.network(place, settings, history, results)
    if dataset is not None:
        run = replace(run, tags=run.tags | {"dataset_sha256": dataset})
        hashes["dataset"] = dataset
    return replace(run, hashes=hashes, history=history, files={"weights": [file]})


def _whole(experiment: str, files: list[Path], reports: Path | None) -> runs.Run:
    """The run that carries the experiment's tables, `files`, and the page of the report that names it first."""
    artifacts, page = {"tables": files}, experiment_tags.page_of(experiment)
    if reports is not None and page is not None and page.experiments[0] == experiment:
        text = reports / f"{page.name}.md"
        artifacts["report"] = [text, text.with_suffix(".html")]
        figures = sorted(set(re.findall(r"\((figures/\w+\.png)\)", text.read_text())))
        artifacts["report/figures"] = [reports / name for name in figures]
    hashes = {str(path): digests.of_file(path) for paths in artifacts.values() for path in paths}
    return runs.whole(experiment, artifacts, hashes)


@cache
def _origin_now() -> dict[str, str]:
    """Where numbers come from that are made now, as tags."""
    commit, dirty = provenance.commit()
    return {"git_commit": commit, "dirty": str(dirty), "processor": provenance.machine().text()}
