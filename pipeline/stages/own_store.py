"""MLflow's store of this working directory alone: SQLite, one writer at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import tables
from pipeline.analysis import runs
from pipeline.stages.run_logging import Origin, everything, log_all

if TYPE_CHECKING:
    from mlflow import MlflowClient, entities

STORE, ARTIFACTS = Path("mlflow.db"), Path("mlartifacts")
_EARLIER = "pocsnet"  # MLflow's experiment that held the runs of all experiments before each had its own


@contextmanager
def opened() -> Iterator[MlflowClient]:
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


def track(client: MlflowClient, experiment: str, tags: dict[str, str], items: list[runs.Run], origin: Origin) -> None:
    """Log those runs of the experiment that are missing, replace those whose content changed, mark superseded ones."""
    experiment_id = _experiment(client, experiment, tags)
    log_all(
        client,
        experiment_id,
        experiment,
        _missing(client, experiment_id, items, ARTIFACTS / experiment),
        origin,
        {"state": "current"},
    )


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
        runs_of_all = everything(client, earlier.experiment_id)
        if earlier.lifecycle_stage == "active":
            client.delete_experiment(earlier.experiment_id)
        _collect("--experiment-ids", [earlier.experiment_id])
        for run in runs_of_all:
            shutil.rmtree(ARTIFACTS / run.info.run_id, ignore_errors=True)


def _collect(option: str, ids: list[str]) -> None:
    """Remove for good what is in MLflow's bin, by its ids."""
    from mlflow.cli import gc  # in this process: another one would take seconds to start

    store = f"sqlite:///{STORE.resolve()}"
    arguments = ["--backend-store-uri", store, "--tracking-uri", store, option, ",".join(ids)]
    with redirect_stdout(StringIO()):
        gc.main(arguments, standalone_mode=False)
    os.environ.pop("MLFLOW_TRACKING_URI", None)  # `gc` sets it, but it was not set: this is no team's store


def _missing(client: MlflowClient, experiment_id: str, items: list[runs.Run], artifacts: Path) -> list[runs.Run]:
    """Remove stale runs for good, mark superseded ones, and return those still to be logged."""
    by_name = {item.name: item for item in items}
    logged, stale = set(), []
    for run in everything(client, experiment_id):
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
