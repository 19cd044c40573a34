"""MLflow's store of runs, the only door to it: this folder's SQLite or, by `MLFLOW_TRACKING_URI`, a team's server.

Many write to a server at once, and it offers no lock. So every writer looks at all runs of the experiment, corrects
what is wrong with them, logs what is missing, and ends after a look at which nothing was wrong:

- A run of its own that it did not finish, because it was killed, is deleted.
- Of finished runs with equal content, the one that was started first stays; the others are deleted. Every writer takes
  the same for the first, and whoever finishes last sees all of them: so one stays, and no content is lost.
- A writer holds the finished runs that its tables say, by a tag of its own, and drops others.
- A run is `current` while anybody holds it, `superseded` afterwards. No finished run is deleted but for an equal one.

"Deleted" means: in MLflow's bin, which `mlflow gc` empties.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import os
import socket
import tempfile
import time
from collections import defaultdict
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
    from mlflow import MlflowClient, entities

STORE, ARTIFACTS = Path("mlflow.db"), Path("mlartifacts")
VARIABLE = "MLFLOW_TRACKING_URI"
_REMEDY = f"If another version wrote it, or the folder was moved, delete {STORE} and {ARTIFACTS}: they are made anew"
_HOLDER = "holder."  # a tag of this kind for every folder whose tables say the run; its value is the folder
_PICTURE = "picture.png"  # an artifact
_LOOKS = 100  # each follows a correction: a team needs fewer
_MOST = 50_000  # runs that MLflow gives at once; an experiment has tens
_FORESTALLED = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE", "BAD_REQUEST")  # say the stores


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
                    MlflowClient(f"sqlite:///{temporary}").search_experiments()
            yield MlflowClient(server or f"sqlite:///{STORE.resolve()}")  # it keeps what it opened, by name
        except MlflowException as error:
            name, reason = str(STORE), str(error)
            if server:
                name = without_password(server)
                reason = reason.replace(server, name)
            raise ValueError(f"MLflow's store {name} refused, or does not answer: {reason}. {remedy}") from error


def experiments() -> dict[str, str]:
    """Ids of all experiments in the store, by name."""
    with opened() as client:
        return {experiment.name: str(experiment.experiment_id) for experiment in client.search_experiments()}


def track(
    client: MlflowClient,
    experiment: str,
    tags: dict[str, str],
    items: list[runs.Run],
    origin: dict[str, str],
    folder: str | None = None,
) -> None:
    """Log those runs of the experiment that nobody has logged, and hold those that stand in the folder's tables.

    `tags`: of the experiment. `origin`: tags that say where numbers come from that are made now. `folder`: this one by
    default. Raises ValueError where the store's artifacts lie in another folder.
    """
    experiment_id = _experiment(client, experiment, tags)
    folder = folder or f"{getpass.getuser()}@{socket.gethostname()}:{Path.cwd()}"
    mine = _HOLDER + hashlib.sha256(folder.encode()).hexdigest()[:16]
    state = {"state": "logging", "writer": folder, mine: folder, "mlflow.user": getpass.getuser()}
    for _ in range(_LOOKS):
        listed = client.search_runs([experiment_id], max_results=_MOST)
        corrections, missing = _look(listed, items, mine, folder)
        if not corrections and not missing:
            return
        for correction, *arguments in corrections:
            _correct(client, correction, *arguments)
        # What was logged last stands first on MLflow's page: the best method.
        for item in tqdm(missing[::-1], desc=f"MLflow, {experiment}", unit="run", disable=not missing):
            _log(client, experiment_id, item, (item.provenance or origin) | state)
    raise ValueError(f"MLflow's runs of {experiment} do not become right; the last corrections: {corrections}")


def _experiment(client: MlflowClient, name: str, tags: dict[str, str]) -> str:
    """Id of the experiment of that name, with these tags; it is made if nobody has made it.

    Its artifacts lie in this folder or where the server puts them. Raises ValueError where they lie in a folder of
    another place: they would be lost to others.
    """
    from mlflow.exceptions import MlflowException

    server = team_server()
    in_folder = None if server else (ARTIFACTS / name).resolve().as_uri()
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            client.create_experiment(name, in_folder, tags)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":  # made by another one meanwhile
                raise
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
        _correct(client, "restore_experiment", experiment.experiment_id)
    experiment_id = str(experiment.experiment_id)
    for key, value in tags.items():
        if experiment.tags.get(key) != (right := value.replace(ID, experiment_id)):
            client.set_experiment_tag(experiment_id, key, right)
    _correct(client, "rename_experiment", experiment_id, name)  # it is modified now: MLflow's first page begins with it
    return experiment_id


def _correct(client: MlflowClient, correction: str, *arguments: str) -> None:
    """Change the store by a method of the client. Another writer may forestall it, as by deleting the run."""
    from mlflow.exceptions import MlflowException

    try:
        getattr(client, correction)(*arguments)
    except MlflowException as error:
        if error.error_code not in _FORESTALLED:
            raise


def _look(
    listed: list[entities.Run], items: list[runs.Run], mine: str, folder: str
) -> tuple[list[tuple[str, ...]], list[runs.Run]]:
    """(corrections, runs to be logged) after one look at all runs of an experiment that are not in the bin.

    A correction is a method of the client and its arguments. `mine`: the tag by which this folder holds a run.
    """
    corrections: list[tuple[str, ...]] = []
    by_content: defaultdict[tuple[str, str], list[entities.Run]] = defaultdict(list)
    for run in listed:
        tags = run.data.tags
        if run.info.status == "FINISHED" and "fingerprint" in tags:
            by_content[str(run.info.run_name), tags["fingerprint"]].append(run)
        elif tags.get("writer") == folder:  # killed while logging: no other process of this folder writes now
            corrections.append(("delete_run", run.info.run_id))
    items_here = {(item.name, item.fingerprint): item for item in items}
    for equal in by_content.values():
        equal.sort(key=_start)
    whole = [equal[0] for equal in by_content.values() if equal[0].data.tags.get("kind") == "tables"]
    for content, (first, *others) in by_content.items():
        tags, run_id = first.data.tags, first.info.run_id
        holders = {
            key: value for run in (first, *others) for key, value in run.data.tags.items() if key.startswith(_HOLDER)
        }
        holders.pop(mine, None)
        if content in items_here:
            holders[mine] = folder
        elif mine in tags:
            corrections.append(("delete_tag", run_id, mine))
        right = holders | {"state": "current" if holders else "superseded"}
        if whole and tags.get("kind") == "training":  # folded up below the newest run `tables`
            right["mlflow.parentRunId"] = max(whole, key=_start).info.run_id
        corrections += [("set_tag", run_id, key, value) for key, value in right.items() if tags.get(key) != value]
        corrections += [("delete_run", run.info.run_id) for run in others]
    return corrections, [item for content, item in items_here.items() if content not in by_content]


def _start(run: entities.Run) -> tuple[int, str]:
    """By which runs are put into a sequence that is the same for every writer."""
    return run.info.start_time, run.info.run_id


def _log(client: MlflowClient, experiment_id: str, item: runs.Run, more_tags: dict[str, str]) -> None:
    """Write a run with its files. One that is FINISHED is there as a whole."""
    from mlflow.entities import Metric, Param

    tags = item.tags | {"fingerprint": item.fingerprint} | more_tags
    tags["mlflow.source.git.commit"] = more_tags["git_commit"]
    run_id = client.create_run(experiment_id, tags=tags, run_name=item.name).info.run_id
    now = time.time_ns() // 1_000_000
    points = [*item.curves, *((key, value, 0) for key, value in item.metrics.items())]
    client.log_batch(
        run_id,
        metrics=[Metric(key, float(f"{value:.4g}"), now, step) for key, value, step in points],  # to be read
        params=[Param(key, value) for key, value in item.parameters.items()],
    )
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
    client.set_terminated(run_id)
