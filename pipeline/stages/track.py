"""Log an experiment to MLflow: the only door to it. One writer, a SQLite store in the working directory."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis import runs
from pipeline.config.experiments import Experiment
from pipeline.config.schedulers import Scheduler
from pipeline.config.section import section
from pipeline.report import plots
from pipeline.report.pages import FILES
from pipeline.stages.command import run
from pipeline.stages.gather import fingerprint, gather, place

if TYPE_CHECKING:
    from mlflow import MlflowClient

STORE, ARTIFACTS, NAME = Path("mlflow.db"), Path("mlartifacts"), "pocsnet"
_BATCH = 1000  # metrics that MLflow takes at once


def main(
    experiment: Annotated[str, typer.Option(help="Name in params.yaml.")],
    settings: Annotated[str, typer.Option(help="Its section of the parameters, as JSON.")],
    schedulers: Annotated[str, typer.Option(help="Section `schedulers` of the parameters, as JSON.")],
    results: Annotated[Path, typer.Option(help="Its table `results`.")],
    histories: Annotated[list[Path], typer.Option(help="Tables `history` of its trainings.")],
    weights: Annotated[list[Path], typer.Option(help="Weights of its trainings.")],
    splits: Annotated[list[Path], typer.Option(help="Tables `splits`: the data set's fingerprint.")],
    reports: Annotated[Path, typer.Option(help="Folder of the report.")],
    out: Annotated[Path, typer.Option(help="JSON to write: names and fingerprints of the runs.")],
) -> None:
    """Log an experiment to MLflow: a flat run for each trained network, and one with tables and report.

    Running it again changes nothing: a run whose fingerprint is known stays, one whose content changed is
    replaced and removed for good. Runs with other parameters or data stay for comparison, tagged
    `state=superseded`. `make dashboard` shows them.
    """
    wanted = _wanted(experiment, settings, schedulers, results, histories, weights, splits, reports)
    record({experiment: wanted}, out)


def record(wanted: dict[str, list[runs.Run]], out: Path) -> None:
    """Make MLflow hold these runs of these experiments, and list them in `out`; without runs it is not touched."""
    if wanted:
        with _client() as (client, experiment_id):
            for experiment, items in wanted.items():
                missing = _reconcile(client, experiment_id, experiment, items)
                for item in tqdm(missing, desc=f"MLflow, {experiment}", unit="run"):
                    _log(client, experiment_id, item)
    listing = [{"name": item.name, "fingerprint": item.fingerprint} for items in wanted.values() for item in items]
    with tables.replacing(out) as temporary:
        temporary.write_text(json.dumps({"runs": listing}, indent=1) + "\n")


def _wanted(
    experiment: str,
    settings: str,
    schedulers: str,
    results: Path,
    histories: list[Path],
    weights: list[Path],
    splits: list[Path],
    reports: Path,
) -> list[runs.Run]:
    chosen = section(Experiment, settings)
    methods = section(dict[str, Scheduler], schedulers)
    numbers = tables.read("results", results)
    data = {place(path, "splits")["dependencies"]: fingerprint(path) for path in splits}
    weights_at = {tuple(place(path, "weights").values()): path for path in weights}
    found = []
    for path in sorted(histories):
        names = place(path, "history")
        own = weights_at[tuple(names.values())]
        hashes = {"splits": data[names["dependencies"]], "history": fingerprint(path), "weights": fingerprint(own)}
        history = gather("history", [path])
        found.append(runs.network(names, chosen.models[names["model"]], methods, history, numbers, own, hashes))
    files = {
        "report": [reports / name for name in (*FILES, "results.csv", "metrics.json")],
        "report/figures": sorted(reports.glob("figures/*.png")),
        "tables": [results],
    }
    hashes = {str(path): fingerprint(path) for paths in files.values() for path in paths}
    return [*found, runs.whole(experiment, numbers, files, hashes)]


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

    missing = {item.name: item for item in wanted}
    identities = {item.name: item.identity for item in wanted}
    stale = []
    there = client.search_runs([experiment_id], f"tags.experiment = '{experiment}'", ViewType.ALL, max_results=10000)
    for old in there:
        name, tags = old.info.run_name, old.data.tags
        deleted = old.info.lifecycle_stage == "deleted"
        if deleted or old.info.status != "FINISHED":  # killed while logging or while removing
            stale.append(old)
        elif name in missing and tags.get("fingerprint") == missing[name].fingerprint:
            missing.pop(name)
            client.set_tag(old.info.run_id, "state", "current")
        elif tags.get("identity") == identities.get(name):
            stale.append(old)
        else:
            client.set_tag(old.info.run_id, "state", "superseded")
    for old in stale:
        if old.info.lifecycle_stage != "deleted":
            client.delete_run(old.info.run_id)
    if stale:
        ids = ",".join(old.info.run_id for old in stale)
        store = f"sqlite:///{STORE}"
        command = [sys.executable, "-m", "mlflow", "gc", "--backend-store-uri", store, "--tracking-uri", store]
        subprocess.run([*command, "--run-ids", ids], check=True, stdout=subprocess.DEVNULL)
        for old in stale:  # `gc` leaves their empty folders
            shutil.rmtree(ARTIFACTS / old.info.run_id, ignore_errors=True)
    return list(missing.values())


def _log(client: MlflowClient, experiment_id: str, item: runs.Run) -> None:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

    commit = _commit()
    fixed = {"identity": item.identity, "fingerprint": item.fingerprint, "state": "current", "git_commit": commit}
    tags = {**item.tags, **fixed, "mlflow.source.git.commit": commit}
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
        client.log_figure(run_id, plots.training(item.history), "plots/training.png")
    client.set_terminated(run_id)


def _commit() -> str:
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):  # no git, no repository or no commit yet
        return "unknown"
    return head.stdout.strip()


if __name__ == "__main__":
    run(main)
