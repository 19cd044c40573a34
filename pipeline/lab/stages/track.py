"""Log experiments to MLflow: the only door to it. Its store is this folder's or, by `MLFLOW_TRACKING_URI`, a team's."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from learned_schedulers.files import replacing
from pipeline.lab import digests, places, provenance, published, runs, tables
from pipeline.lab.shared_tables import HISTORY, RESULTS
from pipeline.lab.stages import experiment_tags, options, run_store
from pipeline.lab.stages.gather import gather


def main(
    settings: options.Settings,
    log: Annotated[Path, typer.Option("--runs", help="JSON to write: names and fingerprints of the runs.")],
    results: options.SomeTables = None,
    history: options.SomeTables = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Of the same trainings as the histories.")] = None,
    reports: Annotated[Path | None, typer.Option(help="Folder of the report.")] = None,
    folders: options.Published = None,
) -> None:
    """Log experiments to MLflow, each as one there: those of `results`, freshly evaluated, and published ones.

    An experiment has a run for each of its methods, the best first, and one that carries its tables and, if the
    experiment is the first of a page of the report, that page; its trainings are folded up below that one. A published
    run says where its numbers come from.
    Running it again changes nothing: a run with the same content stays. Where the content changed, the earlier run
    stays for comparison, tagged `state=superseded`. `make dashboard` shows them. With `MLFLOW_TRACKING_URI` they are
    logged to a team's server (docs/team.md).
    """
    settings_now: dict[str, dict[str, Any]] = json.loads(settings)
    trained = {tuple(places.place(path, "weights").values()): path for path in weights or []}
    by_experiment: dict[str, list[runs.Run]] = {}
    for path in results or []:
        experiment, numbers = places.place(path, "results")["experiment"], tables.read(RESULTS, path)
        chosen = settings_now.get(experiment, {})
        by_experiment[experiment] = [
            *runs.methods(experiment, chosen, numbers),
            *(
                _trained(file, trained, chosen, numbers)
                for file in sorted(history or [])
                if places.place(file, "history")["experiment"] == experiment
            ),
            _whole(experiment, [path], reports),
        ]
    for folder in folders or []:
        if folder.name not in by_experiment:
            frozen = published.load([folder])
            table = frozen.tables
            by_experiment[folder.name] = runs.published(
                frozen.provenance[folder.name],
                settings_now.get(folder.name),
                *(table["results"], table["history"], table["policy_trainings"]),
                _whole(folder.name, sorted(folder.iterdir()), reports),
            )
    if by_experiment:  # without runs the store is not touched
        with run_store.opened() as client:
            commit, dirty = provenance.commit()
            origin = {"git_commit": commit, "dirty": str(dirty), "processor": provenance.machine().text()}
            # MLflow's first page shows the experiments that were tracked last.
            for experiment in reversed(experiment_tags.in_order(by_experiment)):
                items = by_experiment[experiment]
                tags = experiment_tags.tags(experiment, settings_now.get(experiment, {}), items)
                run_store.track(client, experiment, tags, items, origin)
    listing = [
        {"experiment": experiment, "name": item.name, "fingerprint": item.fingerprint}
        for experiment, items in by_experiment.items()
        for item in items
    ]
    with replacing(log) as temporary:
        temporary.write_text(json.dumps({"runs": listing}, indent=1) + "\n")


def _trained(
    path: Path, weights: dict[tuple[str, ...], Path], settings: dict[str, Any], results: pd.DataFrame
) -> runs.Run:
    """The run of the freshly evaluated network whose history lies in `path`."""
    place, history = places.place(path, "history"), gather(HISTORY, [path])
    file = weights[tuple(place.values())]
    hashes = {"history": digests.of_file(path), "weights": digests.of_file(file)}
    run = runs.network(place, settings, history, results)
    picture = partial(runs.drawn, "training", history, runs.DRAWN_CURVES)
    return replace(run, hashes=hashes, picture=picture, files={"weights": [file]})


def _whole(experiment: str, files: list[Path], reports: Path | None) -> runs.Run:
    """The run that carries the experiment's tables, `files`, and the page of the report that names it first."""
    artifacts, page = {"tables": files}, experiment_tags.page_of(experiment)
    if reports is not None and page is not None and page.experiments[0] == experiment:
        artifacts["report"] = [reports / f"{page.name}.html"]  # its figures are in it
    hashes = {str(path): digests.of_file(path) for paths in artifacts.values() for path in paths}
    return runs.whole(experiment, artifacts, hashes)
