"""What is logged again and again, by a writer that is killed at any moment, is there once; others' runs stay."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INVALID_PARAMETER_VALUE

from pipeline.lab import runs
from pipeline.lab.stages import run_store

ACTIVE, DELETED = "active", "deleted"
KINDS = {"gcc": "method", "popocs": "training", "tables": "tables"}


class Killed(Exception):
    """The writer's end."""


class Store:
    """MLflow's store in memory, as the tracker uses it; after `calls` calls the writer is killed."""

    def __init__(self) -> None:
        self.runs = dict[str, SimpleNamespace]()
        self.experiment: SimpleNamespace | None = None
        self.calls = 10**9

    def __getattribute__(self, name: str) -> Any:
        if name not in ("runs", "experiment", "calls") and not name.startswith("_"):
            self.calls -= 1
            if self.calls < 0:
                raise Killed
        return object.__getattribute__(self, name)

    def get_experiment_by_name(self, name: str) -> SimpleNamespace | None:
        return self.experiment

    def create_experiment(self, name: str, location: str | None, tags: dict[str, str]) -> str:
        self.experiment = SimpleNamespace(
            name=name, experiment_id="1", tags=tags, lifecycle_stage=ACTIVE, artifact_location="mlflow-artifacts:/1"
        )
        return "1"

    def rename_experiment(self, experiment_id: str, name: str) -> None:
        assert self.experiment is not None
        self.experiment.name = name

    def create_run(self, experiment_id: str, began: int, tags: dict[str, str], run_name: str) -> SimpleNamespace:
        number = len(self.runs)
        info = {"run_id": f"{number * 7919 % 1009:04}", "run_name": run_name, "status": "RUNNING"}
        info |= {"start_time": began, "lifecycle_stage": ACTIVE}
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

    def log_inputs(self, run_id: str, **content: object) -> None:
        self._active(run_id)

    def set_terminated(self, run_id: str, end_time: int) -> None:
        self._active(run_id).info.status = "FINISHED"

    def set_tag(self, run_id: str, key: str, value: str) -> None:
        self._active(run_id).data.tags[key] = value

    def delete_tag(self, run_id: str, key: str) -> None:
        del self._active(run_id).data.tags[key]

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


def tracked(store: Store, items: list[runs.Run], calls: int = 10**9) -> None:
    """Track, or be killed after so many calls."""
    store.calls = calls
    with contextlib.suppress(Killed):
        run_store.track(store, "quick", {}, items, {"git_commit": "c"})
    store.calls = 10**9


def shown(store: Store, state: str) -> Counter[tuple[str, str]]:
    return Counter(
        (run.info.run_name, run.data.tags["fingerprint"])
        for run in store.runs.values()
        if run.info.lifecycle_stage == ACTIVE and run.data.tags["state"] == state and run.info.status == "FINISHED"
    )


def expected(items: list[runs.Run]) -> Counter[tuple[str, str]]:
    return Counter({(run.name, run.fingerprint): 1 for run in items})


@pytest.mark.parametrize("seed", range(100))
def test_none_is_lost_none_is_double_and_tracking_again_changes_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(run_store.VARIABLE, "http://server")
    choices = random.Random(seed)
    store = Store()
    before = [item(name, 0.5) for name in KINDS]
    tracked(store, before, choices.randrange(1, 25))
    tracked(store, before)
    assert shown(store, "current") == expected(before) and not shown(store, "superseded")
    present = [run for run in store.runs.values() if run.info.lifecycle_stage == ACTIVE]
    (whole,) = (run.info.run_id for run in present if run.data.tags["kind"] == "tables")
    parents = [run.data.tags.get("mlflow.parentRunId") for run in present if run.data.tags["kind"] == "training"]
    assert parents == [whole], "trainings lie below the run `tables`"
    state = {name: (vars(run.info).copy(), dict(run.data.tags)) for name, run in store.runs.items()}
    tracked(store, before)
    assert {name: (vars(run.info), run.data.tags) for name, run in store.runs.items()} == state

    changed = [item(name, choices.choice((0.5, 0.6))) for name in KINDS]
    tracked(store, changed, choices.randrange(1, 25))
    tracked(store, changed)
    assert shown(store, "current") == expected(changed)
    assert shown(store, "superseded") == expected(before) - expected(changed), "nothing that was logged is removed"
    assert_earlier_ones_are_folded(store)

    tracked(store, before)  # the way back
    assert shown(store, "current") == expected(before)
    assert shown(store, "superseded") == expected(changed) - expected(before)
    assert_earlier_ones_are_folded(store)


def assert_earlier_ones_are_folded(store: Store) -> None:
    """Every superseded run lies below the current one of its name, trainings below `tables`, others nowhere."""
    runs_now = [run for run in store.runs.values() if run.info.lifecycle_stage == ACTIVE]
    current = {run.info.run_name: run.info.run_id for run in runs_now if run.data.tags["state"] == "current"}
    for run in runs_now:
        above = current["tables"] if run.data.tags["kind"] == "training" else None
        if run.data.tags["state"] == "superseded":
            above = current[run.info.run_name]
        assert run.data.tags.get("mlflow.parentRunId") == above


def test_the_runs_of_another_folder_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(run_store.VARIABLE, "http://server")
    store = Store()
    tracked(store, [item("gcc", 0.5)])
    monkeypatch.chdir(tmp_path)
    tracked(store, [item("gcc", 0.6)])
    assert shown(store, "current") == expected([item("gcc", 0.5)]) + expected([item("gcc", 0.6)])
    tracked(store, [item("gcc", 0.5)])  # logged already, by the other one
    assert shown(store, "superseded") == expected([item("gcc", 0.6)])


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
    store = Store()
    store.create_experiment("quick", None, {})
    assert store.experiment is not None
    store.experiment.artifact_location = "/home/somebody/mlruns/1"
    with pytest.raises(ValueError, match="a folder that others do not see"):
        run_store.track(store, "quick", {}, [], {})
