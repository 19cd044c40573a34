"""MLflow's store of runs, the only door to it: this folder's SQLite or, by `MLFLOW_TRACKING_URI`, a server.

One clone writes at a time. It deletes its runs that a kill left half-logged, logs those that nobody has logged, and
tags its runs of other content `state=superseded`: they are folded up below the current run of their name. A run that
another folder logged is never changed.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tqdm import tqdm

from learned_schedulers.files import replacing
from pipeline.lab import runs
from pipeline.lab.stages.experiment_tags import ID

if TYPE_CHECKING:
    from fastapi import FastAPI
    from flask import Response
    from mlflow import MlflowClient, entities

STORE, ARTIFACTS = Path("mlflow.db"), Path("mlartifacts")
VARIABLE = "MLFLOW_TRACKING_URI"
_REMEDY = f"If another version wrote it, or the folder was moved, delete {STORE} and {ARTIFACTS}: they are made anew"
_PICTURE = "picture.png"  # an artifact
_MOST = 50_000  # runs that MLflow gives at once; an experiment has tens
_MOST_PARAMETERS = 100  # in a batch
_LONGEST_DIGEST = 36  # characters
_PARENT = "mlflow.parentRunId"
# Whatever an experiment's kind is, MLflow shows agents, not trainings, to a browser that comes for the first time, and
# an assistant that is not there; it folds all but 100 pixels of a run's picture.
_FIRST_VISIT = b"""<head><script>
localStorage["mlflow.workflowType_v1"] ??= '"machine_learning"'
localStorage["mlflow.assistant.fab.autoOpenedOnFirstLoad_v1"] ??= "true"
</script><style>
:has(> [data-testid="truncation-gradient"]) { max-height: none !important }
[data-testid="truncation-gradient"] { display: none }
</style>"""


def team_server() -> str | None:
    """Address of the team's server, or None where this folder has its own store. Raises ValueError for other kinds."""
    uri = os.environ.get(VARIABLE, "")
    if uri and urlsplit(uri).scheme not in ("http", "https"):
        raise ValueError(
            f"{VARIABLE}={without_password(uri)} is not http(s)://, an MLflow server. See docs/team.md, or unset it: "
            "the runs are then logged to this folder"
        )
    return uri.rstrip("/") or None


def without_password(uri: str) -> str:
    """The address as it may be printed."""
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@contextmanager
def opened() -> Iterator[MlflowClient]:
    """The store; of this folder, one process at a time writes to it. Raises ValueError where MLflow refuses."""
    server = team_server()
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")  # MLflow's 7 take minutes to say that nobody answers
    from mlflow import MlflowClient  # takes two seconds: not for --help
    from mlflow.exceptions import MlflowException

    remedy = _REMEDY
    if server:
        remedy = f"Does `mlflow server` run there, in the version of constraints.txt? Or unset {VARIABLE}"
    ARTIFACTS.mkdir(exist_ok=True)
    with (ARTIFACTS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not server and not STORE.exists():  # under another name: a store killed half-made could not be opened
                with replacing(STORE) as temporary:
                    MlflowClient(f"sqlite:///{temporary}").delete_experiment("0")  # the empty `Default`
            yield MlflowClient(server or f"sqlite:///{STORE.resolve()}")  # it keeps what it opened, by name
        except MlflowException as error:
            name, reason = str(STORE), str(error)
            if server:
                name = without_password(server)
                reason = reason.replace(server, name)
            raise ValueError(f"MLflow's store {name} refused, or does not answer: {reason}. {remedy}") from error


def experiments() -> dict[str, str]:
    """Ids of all experiments in the store, by name, as MLflow's first page orders them: the last logged first."""
    with opened() as client:
        listed = client.search_experiments(order_by=["last_update_time DESC"])
        return {experiment.name: str(experiment.experiment_id) for experiment in listed}


def pages() -> FastAPI:
    """MLflow's application on this folder's store; a browser that comes for the first time is shown the runs."""
    from flask import request
    from mlflow.server import app, constants

    os.environ[constants.BACKEND_STORE_URI_ENV_VAR] = f"sqlite:///{STORE.resolve()}"
    from mlflow.server.fastapi_app import app as served

    @app.after_request
    def begun(response: Response) -> Response:
        if response.mimetype == "text/html" and request.path == "/":
            response.direct_passthrough = False
            response.set_data(response.get_data().replace(b"<head>", _FIRST_VISIT, 1))
        return response

    return served


def track(
    client: MlflowClient, experiment: str, tags: dict[str, str], items: list[runs.Run], origin: dict[str, str]
) -> None:
    """Log those runs of the experiment that nobody has logged; the store then says which runs are current.

    `tags`: of the experiment. `origin`: tags that say where numbers come from that are made now. Raises ValueError
    where the store's artifacts lie in another folder.
    """
    experiment_id = _experiment(client, experiment, tags)
    folder = f"{getpass.getuser()}@{socket.gethostname()}:{Path.cwd()}"
    state = {"state": "current", "writer": folder, "mlflow.user": getpass.getuser()}
    listed = client.search_runs([experiment_id], max_results=_MOST)
    for run in listed:
        if run.info.status != "FINISHED" and run.data.tags.get("writer") == folder:  # killed while it was logged
            client.delete_run(run.info.run_id)
    logged = {_content(run) for run in listed if run.info.status == "FINISHED"}
    missing = [item for item in items if (item.name, item.fingerprint) not in logged]
    for item in tqdm(missing, desc=f"MLflow, {experiment}", unit="run", disable=not missing):
        later = len(items) - items.index(item)  # milliseconds: MLflow's page begins with the latest run, here the best
        _log(client, experiment_id, item, (item.provenance or origin) | state, later)
    contents = {(item.name, item.fingerprint) for item in items}
    finished = [run for run in client.search_runs([experiment_id], max_results=_MOST) if run.info.status == "FINISHED"]
    current = {run.info.run_name: run for run in finished if _content(run) in contents}
    whole = next((run.info.run_id for run in current.values() if run.data.tags.get("kind") == "tables"), None)
    for run in finished:
        tags_now, run_id = run.data.tags, run.info.run_id
        if tags_now.get("writer") != folder:
            continue
        state_now, parent = "current", whole if tags_now.get("kind") == "training" else None
        if _content(run) not in contents:
            same = current.get(run.info.run_name)
            state_now, parent = "superseded", same.info.run_id if same else whole
        if tags_now.get("state") != state_now:
            client.set_tag(run_id, "state", state_now)
        if parent is None and _PARENT in tags_now:
            client.delete_tag(run_id, _PARENT)
        elif parent is not None and tags_now.get(_PARENT) != parent:
            client.set_tag(run_id, _PARENT, parent)


def _content(run: entities.Run) -> tuple[str, str]:
    return str(run.info.run_name), run.data.tags.get("fingerprint", "")


def _experiment(client: MlflowClient, name: str, tags: dict[str, str]) -> str:
    """Id of the experiment of that name, with these tags; it is made if nobody has made it.

    Its artifacts lie in this folder or where the server puts them. Raises ValueError where they lie in a folder of
    another place: they would be lost to others.
    """
    server = team_server()
    in_folder = None if server else (ARTIFACTS / name).resolve().as_uri()
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        client.create_experiment(name, in_folder, tags)
        experiment = client.get_experiment_by_name(name)
        assert experiment is not None
    location = experiment.artifact_location
    if in_folder and location != in_folder:
        raise ValueError(f"{STORE} keeps its artifacts in {location}, not here. {_REMEDY}")
    if server and urlsplit(location).scheme in ("", "file"):
        raise ValueError(
            f"the server keeps the artifacts of {name} in {location}, a folder that others do not see. "
            "Start it with --artifacts-destination, without --no-serve-artifacts: see docs/team.md"
        )
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    experiment_id = str(experiment.experiment_id)
    for key, value in tags.items():
        if experiment.tags.get(key) != (right := value.replace(ID, experiment_id)):
            client.set_experiment_tag(experiment_id, key, right)
    client.rename_experiment(experiment_id, name)  # it is modified now: MLflow's first page begins with it
    return experiment_id


def _log(client: MlflowClient, experiment_id: str, item: runs.Run, more_tags: dict[str, str], later: int) -> None:
    """Write a run with its files, `later` milliseconds after its work. One that is FINISHED is there as a whole."""
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

    tags = item.tags | {"fingerprint": item.fingerprint} | more_tags
    tags["mlflow.source.git.commit"] = more_tags["git_commit"]
    began, ended = (round(seconds * 1000) + later for seconds in item.worked or (time.time(), time.time()))
    run_id = client.create_run(experiment_id, began, tags, item.name).info.run_id
    points = [*item.curves, *((key, value, 0) for key, value in item.metrics.items())]
    metrics = [Metric(key, float(f"{value:.4g}"), ended, step) for key, value, step in points]  # to be read
    client.log_batch(run_id, metrics=metrics)
    parameters = [Param(key, value) for key, value in item.parameters.items()]
    for first in range(0, len(parameters), _MOST_PARAMETERS):
        client.log_batch(run_id, params=parameters[first : first + _MOST_PARAMETERS])
    use = [InputTag("mlflow.data.context", "evaluation")]
    datasets = [
        DatasetInput(Dataset(name, digest[:_LONGEST_DIGEST], "local", json.dumps({"uri": name})), use)
        for name, digest in item.data.items()
    ]
    client.log_inputs(run_id, datasets=datasets)
    for folder, paths in item.files.items():
        for path in paths:
            client.log_artifact(run_id, str(path), folder)
    if item.picture is not None:
        with tempfile.TemporaryDirectory() as folder_of_picture:
            path = Path(folder_of_picture, _PICTURE)
            path.write_bytes(item.picture())
            client.log_artifact(run_id, str(path))
        # The run's page shows it at the top.
        shown = f"![{item.name}](./get-artifact?path={_PICTURE}&run_uuid={run_id})"
        client.set_tag(run_id, "mlflow.note.content", shown)
    client.set_terminated(run_id, end_time=ended)
