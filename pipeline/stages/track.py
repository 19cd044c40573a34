"""Log experiments to MLflow: the only door to it. One writer, a SQLite store in the working directory."""

from __future__ import annotations

import fcntl
import json
import os
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
from pipeline.stages import options
from pipeline.stages.gather import gather

if TYPE_CHECKING:
    from mlflow import MlflowClient

STORE, ARTIFACTS, NAME = Path("mlflow.db"), Path("mlartifacts"), "pocsnet"
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
    """Log experiments to MLflow: those of `results`, freshly evaluated, and those that are published.

    A fresh one has a flat run for each trained network, and one with tables and report; a published one has a run
    for each of its trainings, or for each method, with where its numbers come from. Nothing is trained for it.
    Running it again changes nothing: a run whose fingerprint is known stays, one whose content changed is
    replaced and removed for good. Runs with other parameters or data stay for comparison, tagged
    `state=superseded`. `make dashboard` shows them.
    """
    of_now: dict[str, dict[str, Any]] = json.loads(settings)
    trained = {tuple(places.place(path, "weights").values()): path for path in weights or []}
    datasets = {places.place(path, "splits")["dependencies"]: digests.of_file(path) for path in splits or []}
    wanted: dict[str, list[runs.Run]] = {}
    for path in results or []:
        experiment, numbers = places.place(path, "results")["experiment"], tables.read("results", path)
        wanted[experiment] = [
            _trained(file, trained, datasets, of_now.get(experiment, {}), numbers)
            for file in sorted(history or [])
            if places.place(file, "history")["experiment"] == experiment
        ]
        wanted[experiment].append(_whole(experiment, path, numbers, reports))
    for folder in folders or []:
        if folder.name not in wanted:
            frozen = published.load([folder])
            origin, table = frozen.provenance[folder.name], frozen.tables
            several = (table["results"], table["history"], table["policy_trainings"])
            wanted[folder.name] = runs.published(origin, of_now.get(folder.name), *several)
    wanted = {experiment: items for experiment, items in wanted.items() if items}
    if wanted:  # without runs the store is not touched
        with _client() as (client, experiment_id):
            for experiment, items in wanted.items():
                missing = _reconcile(client, experiment_id, experiment, items)
                origin_now = _origin_now() if missing else {}
                for item in tqdm(missing, desc=f"MLflow, {experiment}", unit="run", disable=not missing):
                    _log(client, experiment_id, item, item.provenance or origin_now)
    listing = [{"name": item.name, "fingerprint": item.fingerprint} for items in wanted.values() for item in items]
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


def _whole(experiment: str, path: Path, results: pd.DataFrame, reports: Path | None) -> runs.Run:
    """The run that carries the experiment's table `results`, in `path`, and the report."""
    from pipeline.report.pages import FILES

    files = {"tables": [path]}
    if reports is not None:
        files["report"] = [reports / name for name in (*FILES, "results.csv", "metrics.json")]
        files["report/figures"] = sorted(reports.glob("figures/*.png"))
    hashes = {str(path): digests.of_file(path) for paths in files.values() for path in paths}
    return runs.whole(experiment, results, files, hashes)


def _origin_now() -> dict[str, str]:
    """Where numbers come from that are made now, as tags."""
    commit, dirty = provenance.commit()
    return {"git_commit": commit, "dirty": str(dirty), "processor": provenance.machine().text()}


@contextmanager
def _client() -> Iterator[tuple[MlflowClient, str]]:
    """The store and the id of our experiment in it, for this process alone."""
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
            location = ARTIFACTS.resolve().as_uri()
            found = client.get_experiment_by_name(NAME)
            if found is not None and found.artifact_location != location:
                raise ValueError(
                    f"{STORE} keeps its artifacts in {found.artifact_location}, not here: was the folder moved? "
                    f"Delete {STORE} and {ARTIFACTS}; they are made anew from the tables"
                )
            # The tag opens the dashboard's pages for training, not those for language-model agents.
            kind = {"mlflow.experimentKind": "custom_model_development"}
            yield client, found.experiment_id if found else client.create_experiment(NAME, location, kind)
        except MlflowException as error:
            raise ValueError(
                f"MLflow's store {STORE} refused: {error}. If it was written by another version, delete {STORE} and "
                f"{ARTIFACTS}; they are made anew from the tables"
            ) from error


def _reconcile(client: MlflowClient, experiment_id: str, experiment: str, wanted: list[runs.Run]) -> list[runs.Run]:
    """Remove stale runs for good, mark superseded ones, and return those still to be logged."""
    from mlflow.entities import ViewType

    by_name = {item.name: item for item in wanted}
    logged, stale = set(), []
    there = client.search_runs([experiment_id], f"tags.experiment = '{experiment}'", ViewType.ALL, max_results=10000)
    for old in there:
        item, tags = by_name.get(str(old.info.run_name)), old.data.tags
        if old.info.lifecycle_stage == "deleted" or old.info.status != "FINISHED":  # killed while logging or removing
            stale.append(old)
        elif item and item.name not in logged and tags.get("fingerprint") == item.fingerprint:
            logged.add(item.name)
            for key, value in {"state": "current", **item.state}.items():
                if tags.get(key) != value:
                    client.set_tag(old.info.run_id, key, value)
        elif item and tags.get("identity") == item.identity:
            stale.append(old)
        else:
            client.set_tag(old.info.run_id, "state", "superseded")
    for old in stale:
        if old.info.lifecycle_stage != "deleted":
            client.delete_run(old.info.run_id)
    if stale:
        from mlflow.cli import gc  # in this process: another one would take seconds to start

        store = f"sqlite:///{STORE}"
        arguments = ["--backend-store-uri", store, "--tracking-uri", store]
        arguments += ["--run-ids", ",".join(old.info.run_id for old in stale)]
        with redirect_stdout(StringIO()):
            gc.main(arguments, standalone_mode=False)
        for old in stale:  # `gc` leaves their empty folders
            shutil.rmtree(ARTIFACTS / old.info.run_id, ignore_errors=True)
    return [item for item in wanted if item.name not in logged]


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
        from pipeline.report.index.paper_tables import CURVES  # takes a second: not where nothing is drawn
        from pipeline.report.plots import training

        client.log_figure(run_id, training(item.history, CURVES), "plots/training.png")
    client.set_terminated(run_id)
