"""MLflow's store of a team, named by `MLFLOW_TRACKING_URI`: a server (http) or a PostgreSQL. Many write at once.

No lock serialises the writers, because a server offers none. Instead every writer looks at all runs of the experiment,
corrects what is wrong with them, and ends after a look at which nothing was wrong:

- A run of its own that it did not finish, because it was killed, is deleted.
- Of finished runs with equal content, the one that was started first stays; the others are deleted. Every writer takes
  the same for the first, and whoever finishes last sees all of them: so one stays, and no content is lost.
- A writer holds the finished runs that its tables say, by a tag of its own, and drops others.
- A run is `current` while anybody holds it, `superseded` afterwards. No finished run is deleted but for an equal one.
- What is missing is logged.

The last correction is followed by a look of the same writer, so that all is right when the last of them has ended.
"Deleted" means: in MLflow's bin, which `mlflow gc` empties on the server.
"""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import os
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.analysis import runs
from pipeline.stages.own_store import ARTIFACTS
from pipeline.stages.run_logging import Origin, everything, log_all

if TYPE_CHECKING:
    from mlflow import MlflowClient, entities

VARIABLE, ROOT = "MLFLOW_TRACKING_URI", "MLFLOW_DEFAULT_ARTIFACT_ROOT"
_HOLDER = "holder."  # a tag of this kind for every folder whose tables say the run; its value is the folder
_LOOKS = 100  # each follows a correction: a team needs fewer
_FORESTALLED = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE", "BAD_REQUEST")  # say the stores
_OPENING = 0x5C4ED  # PostgreSQL's number of our lock: tables are made by one process


def address() -> str | None:
    """The team's store, or None where this folder has its own. Raises ValueError where it is of another kind."""
    uri = os.environ.get(VARIABLE, "")
    if not uri:
        return None
    if urlsplit(uri).scheme not in ("http", "https") and not is_database(uri):
        raise ValueError(
            f"{VARIABLE}={without_password(uri)}: neither http(s)://, MLflow's server, nor postgresql://. "
            f"See docs/team.md, or unset it: the runs are then logged to this folder"
        )
    return uri


def is_database(uri: str) -> bool:
    return urlsplit(uri).scheme.partition("+")[0] == "postgresql"


def without_password(uri: str) -> str:
    """The address as it may be printed."""
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@contextmanager
def opened() -> Iterator[MlflowClient]:
    """The team's store; of this folder, one process at a time writes to it."""
    uri = address()
    assert uri is not None
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")  # MLflow's 7 take minutes to say that nobody answers
    from mlflow.exceptions import MlflowException

    ARTIFACTS.mkdir(exist_ok=True)
    with (ARTIFACTS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield _client(uri)
        except MlflowException as error:
            raise ValueError(
                f"MLflow's store {without_password(uri)} refused, or does not answer: {error}. Does `mlflow server` "
                f"run there, in the version of constraints.txt? Without {VARIABLE} runs are logged to this folder"
            ) from error


def experiments() -> dict[str, str]:
    """Ids of the team's experiments, by name."""
    with opened() as client:
        return {experiment.name: str(experiment.experiment_id) for experiment in client.search_experiments()}


def _client(uri: str) -> MlflowClient:
    from mlflow import MlflowClient  # takes two seconds: not for --help

    if not is_database(uri):
        return MlflowClient(uri)
    import sqlalchemy

    engine = sqlalchemy.create_engine(uri)
    try:
        with engine.begin() as connection:  # it frees the lock, too
            connection.execute(sqlalchemy.text(f"SELECT pg_advisory_xact_lock({_OPENING})"))
            client = MlflowClient(uri)
            client.search_experiments(max_results=1)  # the first one makes the tables
    except sqlalchemy.exc.OperationalError as error:
        raise ValueError(f"PostgreSQL does not answer at {without_password(uri)}: {error.orig}") from error
    finally:
        engine.dispose()
    return client


def this_folder() -> str:
    """The name of the working directory in the team's store."""
    return f"{getpass.getuser()}@{socket.gethostname()}:{Path.cwd()}"


def track(
    client: MlflowClient,
    experiment: str,
    tags: dict[str, str],
    items: list[runs.Run],
    origin: Origin,
    folder: str | None = None,
) -> None:
    """Log those runs of the experiment that nobody has logged, and hold those that stand in the folder's tables.

    `folder`: this one by default. Raises ValueError where the store's artifacts lie in one machine's folder.
    """
    experiment_id = _experiment(client, experiment, tags)
    folder = folder or this_folder()
    mine = _HOLDER + hashlib.sha256(folder.encode()).hexdigest()[:16]
    state = {"state": "logging", "writer": folder, mine: folder, "mlflow.user": getpass.getuser()}
    for _ in range(_LOOKS):
        corrections, missing = _look(client, everything(client, experiment_id), items, mine, folder)
        if not corrections and not missing:
            return
        log_all(client, experiment_id, experiment, missing, origin, state)
    raise ValueError(f"MLflow's runs of {experiment} do not become right; the last corrections: {corrections}")


def _experiment(client: MlflowClient, name: str, tags: dict[str, str]) -> str:
    """Id of the experiment of that name, with these tags; it is made if nobody has made it."""
    from mlflow.exceptions import MlflowException

    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            client.create_experiment(name, _location(name), tags)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":  # made by another one meanwhile
                raise
        experiment = client.get_experiment_by_name(name)
        assert experiment is not None
    _check_location(experiment)
    if experiment.lifecycle_stage == "deleted":
        _correct(client.restore_experiment, experiment.experiment_id)
    for key, value in tags.items():
        if experiment.tags.get(key) != value:
            client.set_experiment_tag(experiment.experiment_id, key, value)
    return str(experiment.experiment_id)


def _location(experiment: str) -> str | None:
    """Where a new experiment's artifacts go: a server decides it; beside a database, a variable says it."""
    uri = address()
    if uri is None or not is_database(uri):
        return None
    if not (root := os.environ.get(ROOT)):
        raise ValueError(
            f"{VARIABLE} is a database, which holds no files. Set {ROOT} to a place that all of the team read and "
            "write, such as s3://bucket/mlflow or file:///a/shared/folder; or start `mlflow server` over the "
            f"database, and set {VARIABLE} to its http address (docs/team.md)"
        )
    return f"{root.rstrip('/')}/{experiment}"


def _check_location(experiment: entities.Experiment) -> None:
    """Raise ValueError where a server hands out a path of its own machine: artifacts would be written here."""
    uri = address()
    if uri is not None and not is_database(uri) and urlsplit(experiment.artifact_location).scheme in ("", "file"):
        raise ValueError(
            f"the server keeps the artifacts of {experiment.name} in {experiment.artifact_location}, a folder that "
            "others do not see. Start it with --artifacts-destination, without --no-serve-artifacts: see docs/team.md"
        )


def _correct(change: Callable[..., object], *arguments: str) -> str:
    """Change the store; what was done in words. Another writer may forestall it, as by deleting the run."""
    from mlflow.exceptions import MlflowException

    words = f"{change.__name__}{arguments}"
    try:
        change(*arguments)
    except MlflowException as error:
        if error.error_code not in _FORESTALLED:
            raise
        return f"{words}: {error.message}"
    return words


def _look(
    client: MlflowClient, listed: list[entities.Run], items: list[runs.Run], mine: str, folder: str
) -> tuple[list[str], list[runs.Run]]:
    """(corrections made, runs to be logged) of one look at all runs of an experiment.

    `mine`: the tag by which this folder holds a run. A correction that another writer forestalled counts, too: then
    the runs are looked at again.
    """
    corrections = []
    by_content: defaultdict[tuple[str, str], list[entities.Run]] = defaultdict(list)
    for run in listed:
        tags = run.data.tags
        if run.info.lifecycle_stage == "deleted":
            continue
        if run.info.status == "FINISHED" and "fingerprint" in tags:
            by_content[str(run.info.run_name), tags["fingerprint"]].append(run)
        elif tags.get("writer") == folder:  # killed while logging: no other process of this folder writes now
            corrections.append(_correct(client.delete_run, run.info.run_id))
    items_here = {(item.name, item.fingerprint): item for item in items}
    for content, equal in by_content.items():
        first, *others = sorted(equal, key=lambda run: (run.info.start_time, run.info.run_id))
        tags, run_id = first.data.tags, first.info.run_id
        holders = {key: value for run in equal for key, value in run.data.tags.items() if key.startswith(_HOLDER)}
        holders.pop(mine, None)
        if content in items_here:
            holders[mine] = folder
        elif mine in tags:
            corrections.append(_correct(client.delete_tag, run_id, mine))
        right = holders | {"state": "current" if holders else "superseded"}
        if content in items_here and tags.get("writer") == folder:  # of its writer alone: others may have other sources
            right |= items_here[content].state
        for key, value in right.items():
            if tags.get(key) != value:
                corrections.append(_correct(client.set_tag, run_id, key, value))
        for run in others:
            corrections.append(_correct(client.delete_run, run.info.run_id))
    return corrections, [item for content, item in items_here.items() if content not in by_content]
