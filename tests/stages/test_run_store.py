"""Writers of one store whose calls interleave in any way, and who are killed at any moment, lose and double no run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import greenlet
import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE, RESOURCE_ALREADY_EXISTS, RESOURCE_DOES_NOT_EXIST

from pipeline.lab import runs
from pipeline.lab.stages import run_store

ACTIVE, DELETED = "active", "deleted"
KINDS = {"gcc": "method", "popocs": "training", "tables": "tables"}


class Store:
    """MLflow's store in memory, as the tracker uses it: every call is whole, and another writer may come before it."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self.pause, self.runs = pause, dict[str, SimpleNamespace]()
        self.experiment: SimpleNamespace | None = None

    def __getattribute__(self, name: str) -> Any:
        if name in ("pause", "runs", "experiment") or name.startswith("_"):
            return object.__getattribute__(self, name)
        object.__getattribute__(self, "pause")()
        return object.__getattribute__(self, name)

    def get_experiment_by_name(self, name: str) -> SimpleNamespace | None:
        return self.experiment

    def create_experiment(self, name: str, location: str | None, tags: dict[str, str]) -> str:
        if self.experiment is not None:
            raise MlflowException("it exists", error_code=RESOURCE_ALREADY_EXISTS)
        self.experiment = SimpleNamespace(
            name=name, experiment_id="1", tags=tags, lifecycle_stage=ACTIVE, artifact_location="mlflow-artifacts:/1"
        )
        return "1"

    def rename_experiment(self, experiment_id: str, name: str) -> None:
        assert self.experiment is not None
        self.experiment.name = name

    def create_run(self, experiment_id: str, tags: dict[str, str], run_name: str) -> SimpleNamespace:
        number = len(self.runs)
        # Clocks of machines differ: a later run may say that it was started earlier.
        info = {"run_id": f"{number * 7919 % 1009:04}", "run_name": run_name, "status": "RUNNING"}
        info |= {"start_time": number * 31 % 7, "lifecycle_stage": ACTIVE}
        created = SimpleNamespace(info=SimpleNamespace(**info), data=SimpleNamespace(tags=dict(tags)))
        self.runs[created.info.run_id] = created
        return created

    def _active(self, run_id: str) -> SimpleNamespace:
        run = self.runs[run_id]
        if run.info.lifecycle_stage == DELETED:
            raise MlflowException("it must be in the 'active' state", error_code=INVALID_PARAMETER_VALUE)
        return run

    def log_batch(self, run_id: str, **content: object) -> None:
        self._active(run_id)

    def set_terminated(self, run_id: str) -> None:
        self._active(run_id).info.status = "FINISHED"

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self._active(run_id).data.tags[key] = value

    def delete_tag(self, run_id: str, key: str) -> None:
        if self._active(run_id).data.tags.pop(key, None) is None:
            raise MlflowException("no such tag", error_code=RESOURCE_DOES_NOT_EXIST)

    def delete_run(self, run_id: str) -> None:
        self.runs[run_id].info.lifecycle_stage = DELETED

    def search_runs(self, *_: object, **__: object) -> list[SimpleNamespace]:
        """A copy: what another writer changes afterwards is not seen."""
        return [
            SimpleNamespace(info=SimpleNamespace(**vars(run.info)), data=SimpleNamespace(tags=dict(run.data.tags)))
            for run in self.runs.values()
            if run.info.lifecycle_stage == ACTIVE
        ]


def item(name: str, value: float) -> runs.Run:
    return runs.Run(name, {"kind": KINDS[name]}, {"name": name}, {"exact_match": value})


def interleaved(store: Store, writers: dict[str, list[runs.Run]], choices: random.Random, killed: set[str]) -> None:
    """All writers track at once; which one makes the next call is drawn, and so is when those to be killed die."""

    def track(folder: str, items: list[runs.Run]) -> None:
        run_store.track(store, "quick", {}, items, {"git_commit": "c"}, folder)

    alive = {name: greenlet.greenlet(track) for name in writers}
    scheduler = greenlet.getcurrent()
    store.pause = lambda: scheduler.switch()
    steps = {name: choices.randrange(1, 25) for name in sorted(killed)}
    while alive:
        name = choices.choice(sorted(alive))
        alive[name].switch(*(() if alive[name] else (name, writers[name])))
        steps[name] = steps.get(name, 10**9) - 1
        if alive[name].dead or steps[name] == 0:
            del alive[name]


def expected(writers: dict[str, list[runs.Run]]) -> Counter[tuple[str, str]]:
    return Counter({(run.name, run.fingerprint): 1 for items in writers.values() for run in items})


def shown(store: Store, state: str) -> Counter[tuple[str, str]]:
    return Counter(
        (run.info.run_name, run.data.tags["fingerprint"])
        for run in store.runs.values()
        if run.info.lifecycle_stage == ACTIVE and run.data.tags["state"] == state
    )


def held_by(store: Store, folder: str) -> Counter[tuple[str, str]]:
    """What the folder holds, by its own tag."""
    return Counter(
        (run.info.run_name, run.data.tags["fingerprint"])
        for run in store.runs.values()
        if run.info.lifecycle_stage == ACTIVE
        and any(key.startswith("holder.") and value == folder for key, value in run.data.tags.items())
    )


@pytest.mark.parametrize("seed", range(150))
def test_none_is_lost_none_is_double_and_tracking_again_changes_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(run_store.VARIABLE, "http://server")
    choices = random.Random(seed)

    def drawn() -> list[runs.Run]:
        return [item(name, choices.choice((0.5, 0.6))) for name in [*KINDS][: choices.randint(1, 3)]]

    writers = {f"clone_{number}": drawn() for number in range(choices.randint(2, 8))}
    store = Store(lambda: None)
    killed = set(choices.sample(sorted(writers), choices.randint(0, len(writers) // 2)))
    interleaved(store, writers, choices, killed)
    for name in {*writers} - killed:
        assert held_by(store, name).keys() == expected({name: writers[name]}).keys()  # a killed one left equal runs
    assert not expected({name: writers[name] for name in {*writers} - killed}) - shown(store, "current")
    interleaved(store, writers, choices, set())  # the killed ones take up their work
    assert shown(store, "current") == expected(writers) and not shown(store, "logging")
    for name, items in writers.items():
        assert held_by(store, name) == expected({name: items})
    present = [run for run in store.runs.values() if run.info.lifecycle_stage == ACTIVE]
    parents = {run.data.tags.get("mlflow.parentRunId") for run in present if run.data.tags["kind"] == "training"}
    whole = {run.info.run_id for run in present if run.data.tags["kind"] == "tables"}
    assert len(parents) <= 1 and (not whole or parents <= whole), "trainings lie below one run `tables` that is there"

    before = {name: (vars(run.info).copy(), dict(run.data.tags)) for name, run in store.runs.items()}
    interleaved(store, writers, choices, set())
    assert {name: (vars(run.info), run.data.tags) for name, run in store.runs.items()} == before

    changed = {name: drawn() if choices.random() < 0.5 else items for name, items in writers.items()}
    interleaved(store, changed, choices, set())
    assert shown(store, "current") == expected(changed)
    assert shown(store, "superseded") == expected(writers) - expected(changed), "nothing that was logged is removed"


def test_another_kind_of_store_is_refused_and_no_password_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(run_store.VARIABLE, "postgresql://me:secret@host/database")
    with pytest.raises(ValueError, match="postgresql://host/database is not http") as raised:
        run_store.team_server()
    assert "secret" not in str(raised.value)


def test_a_server_that_does_not_answer_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(run_store.VARIABLE, "http://me:secret@127.0.0.1:1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(ValueError, match=r"store http://127\.0\.0\.1:1 refused.*Does `mlflow server` run") as raised:
        run_store.experiments()
    assert "secret" not in str(raised.value)


def test_a_server_that_keeps_artifacts_to_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(run_store.VARIABLE, "http://server")
    store = Store(lambda: None)
    store.create_experiment("quick", None, {})
    assert store.experiment is not None
    store.experiment.artifact_location = "/home/somebody/mlruns/1"
    with pytest.raises(ValueError, match="a folder that others do not see"):
        run_store.track(store, "quick", {}, [], {})


def test_the_store_is_this_folders_where_no_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "http://server:5000"):
        monkeypatch.setenv(run_store.VARIABLE, value)
        assert run_store.team_server() == (value or None)
