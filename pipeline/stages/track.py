"""Log experiments to MLflow: the only door to it. One writer, a SQLite store in the working directory."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer
from tqdm import tqdm

from pipeline import digests, places, tables
from pipeline.analysis import provenance, published, runs
from pipeline.stages import experiment_tags, options
from pipeline.stages.gather import gather

if TYPE_CHECKING:
    from mlflow import MlflowClient, entities

STORE, ARTIFACTS = Path("mlflow.db"), Path("mlartifacts")
_EARLIER = "pocsnet"  # MLflow's experiment that held the runs of all experiments before each had its own
_BATCH = 1000  # metrics that MLflow takes at once


def main(
    settings: options.Settings,
    log: Annotated[Path, typer.Option("--runs", help="JSON to write: names and fingerprints of the runs.")],
    results: options.SomeTables = None,
    history: options.SomeTables = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Of the same trainings as the histories.")] = None,
    splits: options.SomeTables = None,
    reports: Annotated[Path | None, typer.Option(help="Folder of the report.")] = None,
    folders: options.Published = None,
) -> None:
    """Log experiments to MLflow, each as one there: those of `results`, freshly evaluated, and published ones.

    An experiment has flat runs: each of its methods, each of its trainings, and one that carries its tables and, if the
    experiment is the first of a page of the report, that page. A published run says where its numbers come from.
    Running it again changes nothing: a run whose fingerprint is known stays, one whose content changed is
    replaced and removed for good. Runs with other parameters or data stay for comparison, tagged
    `state=superseded`. `make dashboard` shows them.
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
                settings_now.get(folder.name),
                *(table["results"], table["history"], table["policy_trainings"]),
                _whole(folder.name, sorted(folder.iterdir()), reports),
            )
    if by_experiment:  # without runs the store is not touched
        with _client() as client:
            for experiment, items in by_experiment.items():
                tags = experiment_tags.tags(experiment, settings_now.get(experiment, {}), items)
                experiment_id = _experiment(client, experiment, tags)
                missing = _reconcile(client, experiment_id, items, ARTIFACTS / experiment)
                origin_now = _origin_now() if missing else {}
                for item in tqdm(missing, desc=f"MLflow, {experiment}", unit="run", disable=not missing):
                    _log(client, experiment_id, item, item.provenance or origin_now)
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


def _origin_now() -> dict[str, str]:
    """Where numbers come from that are made now, as tags."""
    commit, dirty = provenance.commit()
    return {"git_commit": commit, "dirty": str(dirty), "processor": provenance.machine().text()}


@contextmanager
def _client() -> Iterator[MlflowClient]:
    """The store, for this process alone."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    from mlflow import MlflowClient  # takes two seconds: not for --help
    from mlflow.exceptions import MlflowException

    ARTIFACTS.mkdir(exist_ok=True)
    with (ARTIFACTS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not STORE.exists():  # made under another name: a store killed half-made could not be opened
                with tables.replacing(STORE) as temporary:
                    MlflowClient(f"sqlite:///{temporary}").search_experiments()
            client = MlflowClient(f"sqlite:///{STORE.resolve()}")  # it keeps what it opened, by name
            _remove_earlier(client)
            yield client
        except MlflowException as error:
            raise ValueError(
                f"MLflow's store {STORE} refused: {error}. If it was written by another version, delete {STORE} and "
                f"{ARTIFACTS}; they are made anew from the tables"
            ) from error


def _experiment(client: MlflowClient, name: str, tags: dict[str, str]) -> str:
    """Id of MLflow's experiment of that name, with these tags; it is made if there is none."""
    location = (ARTIFACTS / name).resolve().as_uri()
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return str(client.create_experiment(name, location, tags))
    _check_location(experiment, location)
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    for key, value in tags.items():
        if experiment.tags.get(key) != value:
            client.set_experiment_tag(experiment.experiment_id, key, value)
    return str(experiment.experiment_id)


def _check_location(experiment: entities.Experiment, location: str) -> None:
    """Raise ValueError where the experiment's artifacts lie elsewhere: they may be another folder's."""
    if experiment.artifact_location != location:
        raise ValueError(
            f"{STORE} keeps its artifacts in {experiment.artifact_location}, not here: was the folder moved? "
            f"Delete {STORE} and {ARTIFACTS}; they are made anew from the tables"
        )


def _remove_earlier(client: MlflowClient) -> None:
    """Remove the experiment that held all runs, for good: its runs are made anew from the tables."""
    earlier = client.get_experiment_by_name(_EARLIER)
    if earlier is not None:
        _check_location(earlier, ARTIFACTS.resolve().as_uri())
        runs_of_all = _runs(client, earlier.experiment_id)
        if earlier.lifecycle_stage == "active":
            client.delete_experiment(earlier.experiment_id)
        _collect("--experiment-ids", [earlier.experiment_id])
        for run in runs_of_all:
            shutil.rmtree(ARTIFACTS / run.info.run_id, ignore_errors=True)


def _runs(client: MlflowClient, experiment_id: str) -> list[entities.Run]:
    """All runs of the experiment, those in the bin too."""
    from mlflow.entities import ViewType

    return list(client.search_runs([experiment_id], "", ViewType.ALL, max_results=10000))


def _collect(option: str, ids: list[str]) -> None:
    """Remove for good what is in MLflow's bin, by its ids."""
    from mlflow.cli import gc  # in this process: another one would take seconds to start

    store = f"sqlite:///{STORE.resolve()}"
    arguments = ["--backend-store-uri", store, "--tracking-uri", store, option, ",".join(ids)]
    with redirect_stdout(StringIO()):
        gc.main(arguments, standalone_mode=False)


def _reconcile(client: MlflowClient, experiment_id: str, items: list[runs.Run], artifacts: Path) -> list[runs.Run]:
    """Remove stale runs for good, mark superseded ones, and return those still to be logged."""
    by_name = {item.name: item for item in items}
    logged, stale = set(), []
    for run in _runs(client, experiment_id):
        item, tags = by_name.get(str(run.info.run_name)), run.data.tags
        if run.info.lifecycle_stage == "deleted" or run.info.status != "FINISHED":  # killed while logging or removing
            stale.append(run)
        elif item and item.name not in logged and tags.get("fingerprint") == item.fingerprint:
            logged.add(item.name)
            for key, value in {"state": "current", **item.state}.items():
                if tags.get(key) != value:
                    client.set_tag(run.info.run_id, key, value)
        elif item and tags.get("identity") == item.identity:
            stale.append(run)
        elif tags.get("state") != "superseded":
            client.set_tag(run.info.run_id, "state", "superseded")
    for run in stale:
        if run.info.lifecycle_stage != "deleted":
            client.delete_run(run.info.run_id)
    if stale:
        _collect("--run-ids", [run.info.run_id for run in stale])
        for run in stale:  # `gc` leaves their empty folders
            shutil.rmtree(artifacts / run.info.run_id, ignore_errors=True)
    return [item for item in items if item.name not in logged]


def _log(client: MlflowClient, experiment_id: str, item: runs.Run, origin: dict[str, str]) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

    fixed = {"identity": item.identity, "fingerprint": item.fingerprint, "state": "current"}
    tags = {**item.tags, **item.state, **origin, **fixed, "mlflow.source.git.commit": origin["git_commit"]}
    run_id = client.create_run(experiment_id, tags=tags, run_name=item.name).info.run_id
    now = time.time_ns() // 1_000_000
    metrics = [Metric(key, value, now, step) for key, value, step in item.curves]
    metrics += [Metric(key, value, now, 0) for key, value in item.metrics.items()]
    client.log_batch(run_id, params=[Param(key, value) for key, value in item.parameters.items()])
    for start in range(0, len(metrics), _BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH])
    if "dataset_sha256" in item.tags:
        sha256, mode = item.tags["dataset_sha256"], item.tags["dependencies"]
        dataset = Dataset(f"splits/{mode}", sha256[:32], "local", f"data/splits/{mode}.parquet")
        client.log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])])
    for folder, paths in item.files.items():
        for path in paths:
            client.log_artifact(run_id, str(path), folder)
    if item.history is not None:
        from pipeline.report.plots import training
        from pipeline.report.reproduction.paper_tables import CURVES  # takes a second: not where nothing is drawn

        client.log_figure(run_id, training(item.history, CURVES), "plots/training.png")
    client.set_terminated(run_id)
