"""Log experiments to MLflow: the only door to it. One writer, a SQLite store in the working directory."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from tqdm import tqdm

from pipeline import digests, places, tables
from pipeline.analysis import provenance, published, runs
from pipeline.stages.command import run
from pipeline.stages.gather import gather

if TYPE_CHECKING:
    from mlflow import MlflowClient

STORE, ARTIFACTS, NAME = Path("mlflow.db"), Path("mlartifacts"), "pocsnet"
_BATCH = 1000  # metrics that MLflow takes at once
Paths = Annotated[list[Path] | None, typer.Option(help="Tables of this name, where places.py lays them.")]


def main(
    settings: Annotated[str, typer.Option(help="JSON: experiment -> its settings, resolved.")],
    log: Annotated[Path, typer.Option("--runs", help="JSON to write: names and fingerprints of the runs.")],
    results: Paths = None,
    history: Paths = None,
    weights: Annotated[list[Path] | None, typer.Option(help="Of the same trainings as the histories.")] = None,
    splits: Paths = None,
    reports: Annotated[Path | None, typer.Option(help="Folder of the report.")] = None,
    folders: Annotated[list[Path] | None, typer.Option("--published", help="Published experiments.")] = None,
) -> None:
    """Log experiments to MLflow: those of `results`, freshly evaluated, and those that are published.

    A fresh one has a flat run for each trained network, and one with tables and report; a published one has a run
    for each of its trainings, or for each method, with where its numbers come from. Nothing is trained for it.
    Running it again changes nothing: a run whose fingerprint is known stays, one whose content changed is
    replaced and removed for good. Runs with other parameters or data stay for comparison, tagged
    `state=superseded`. `make dashboard` shows them.
    """
    known: dict[str, dict[str, Any]] = json.loads(settings)
    trained = {tuple(places.place(path, "history").values()): path for path in sorted(history or [])}
    wanted: dict[str, list[runs.Run]] = {}
    for path in results or []:
        experiment = places.place(path, "results")["experiment"]
        own = {place: own for place, own in trained.items() if place[0] == experiment}
        wanted[experiment] = _fresh(
            experiment, known.get(experiment, {}), path, own, weights or [], splits or [], reports
        )
    for folder in folders or []:
        if folder.name not in wanted:
            wanted[folder.name] = _published(folder, known.get(folder.name))
    wanted = {experiment: items for experiment, items in wanted.items() if items}
    if wanted:  # without runs the store is not touched
        with _client() as (client, experiment_id):
            for experiment, items in wanted.items():
                missing = _reconcile(client, experiment_id, experiment, items)
                of_now = _of_now() if missing else {}
                for item in tqdm(missing, desc=f"MLflow, {experiment}", unit="run", disable=not missing):
                    _log(client, experiment_id, item, item.provenance or of_now)
    listing = [{"name": item.name, "fingerprint": item.fingerprint} for items in wanted.values() for item in items]
    with tables.replacing(log) as temporary:
        temporary.write_text(json.dumps({"runs": listing}, indent=1) + "\n")


def _fresh(
    experiment: str,
    settings: dict[str, Any],
    results: Path,
    histories: dict[tuple[str, ...], Path],
    weights: list[Path],
    splits: list[Path],
    reports: Path | None,
) -> list[runs.Run]:
    from pipeline.report.pages import FILES

    numbers = tables.read("results", results)
    data = {places.place(path, "splits")["dependencies"]: digests.of_file(path) for path in splits}
    weights_at = {tuple(places.place(path, "weights").values()): path for path in weights}
    items = []
    for key, path in histories.items():
        place = places.place(path, "history")
        own = weights_at[key]
        hashes = {"history": digests.of_file(path), "weights": digests.of_file(own)}
        if place["dependencies"] in data:
            hashes["dataset"] = data[place["dependencies"]]
        items.append(runs.network(place, settings, gather("history", [path]), numbers, own, hashes))
    files = {"tables": [results]}
    if reports is not None:
        files["report"] = [reports / name for name in (*FILES, "results.csv", "metrics.json")]
        files["report/figures"] = sorted(reports.glob("figures/*.png"))
    hashes = {str(path): digests.of_file(path) for paths in files.values() for path in paths}
    return [*items, runs.whole(experiment, numbers, files, hashes)]


def _published(folder: Path, settings: dict[str, Any] | None) -> list[runs.Run]:
    frozen = published.load_one(folder)
    (origin,) = frozen.provenance.values()
    numbers, histories = frozen.tables["results"], frozen.tables["history"]
    return runs.published(origin, provenance.sources_of(origin), settings, numbers, histories)


def _of_now() -> dict[str, str]:
    """Where numbers come from that are made now, as tags."""
    commit, dirty = provenance.commit()
    machine = provenance.machine()
    return {"git_commit": commit, "dirty": str(dirty), "processor": f"{machine.name} ({machine.kind})"}


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
    wanted_states = {item.name: item.state for item in wanted}
    stale = []
    there = client.search_runs([experiment_id], f"tags.experiment = '{experiment}'", ViewType.ALL, max_results=10000)
    for old in there:
        name, tags = old.info.run_name, old.data.tags
        deleted = old.info.lifecycle_stage == "deleted"
        if deleted or old.info.status != "FINISHED":  # killed while logging or while removing
            stale.append(old)
        elif name in missing and tags.get("fingerprint") == missing[name].fingerprint:
            missing.pop(name)
            for key, value in {"state": "current", **wanted_states[str(name)]}.items():
                if tags.get(key) != value:
                    client.set_tag(old.info.run_id, key, value)
        elif tags.get("identity") == identities.get(name):
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
    return list(missing.values())


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


if __name__ == "__main__":
    run(main)
