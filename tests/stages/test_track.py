"""Tracking is idempotent: run twice, nothing changes; changed content replaces, other parameters stand beside."""

import json
from pathlib import Path

import pytest

from pipeline.report.pages import FILES
from pipeline.stages import track
from tests.analysis import synthetic


def log(settings: dict) -> bytes:
    data = Path("data")
    track.main(
        experiment="quick",
        settings=json.dumps(settings["experiments"]["quick"]),
        schedulers=json.dumps(settings["schedulers"]),
        results=data / "metrics/quick.parquet",
        histories=sorted(data.glob("models/*/*/*/0/history.parquet")),
        weights=sorted(data.glob("models/*/*/*/0/weights.safetensors")),
        splits=sorted(data.glob("splits/*.parquet")),
        reports=Path("reports"),
        out=data / "tracking/quick.json",
    )
    return (data / "tracking/quick.json").read_bytes()


def test_runs_are_kept_replaced_or_superseded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    synthetic.tree(Path("."))
    for name in (*FILES, "results.csv", "metrics.json"):
        (tmp_path / "reports" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "reports" / name).write_text(name)
    settings = synthetic.settings()

    first = log(settings)
    names = [run["name"] for run in json.loads(first)["runs"]]
    assert names == ["quick/full/popocs/0", "quick/full/sinkhorn/0", "quick/report"]
    runs = everything()
    assert sorted(run.info.run_name for run in runs) == sorted(names)
    network = next(run for run in runs if run.info.run_name == "quick/full/popocs/0")
    assert "popocs_20.hungarian.exact_match" in network.data.metrics
    assert "sinkhorn.hungarian.exact_match" not in network.data.metrics
    assert network.data.params["learning_rate"] == str(
        settings["experiments"]["quick"]["models"]["popocs"]["learning_rate"]
    )
    assert network.data.tags["group"] == "quick/full"
    report = next(run for run in runs if run.info.run_name == "quick/report")
    logged = {path.name for path in (tmp_path / "mlartifacts" / report.info.run_id).rglob("report/*")}
    assert set(FILES) <= logged

    assert log(settings) == first
    assert ids(everything()) == ids(runs)

    (tmp_path / "data/models/quick/full/popocs/0/weights.safetensors").write_bytes(b"other weights")
    assert log(settings) != first
    replaced = everything()
    assert len(replaced) == len(runs) and len(ids(replaced) - ids(runs)) == 1
    assert not (tmp_path / "mlartifacts" / network.info.run_id).exists()

    settings["experiments"]["quick"]["models"]["popocs"]["learning_rate"] = 0.5
    log(settings)
    states = [run.data.tags["state"] for run in everything() if "popocs" in run.info.run_name]
    assert sorted(states) == ["current", "superseded"]


def everything() -> list:
    """All runs, those in the bin too."""
    from mlflow import MlflowClient
    from mlflow.entities import ViewType

    client = MlflowClient(f"sqlite:///{track.STORE.resolve()}")
    return list(
        client.search_runs([client.get_experiment_by_name(track.NAME).experiment_id], run_view_type=ViewType.ALL)
    )


def ids(runs: list) -> set[str]:
    return {run.info.run_id for run in runs}
