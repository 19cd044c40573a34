"""Tracking is idempotent: run twice, nothing changes; changed content replaces, other parameters stand beside."""

import json
from pathlib import Path

import pandas as pd
import pytest

from pipeline import places, tables
from pipeline.analysis import provenance, published, rows
from pipeline.report.pages import FILES
from pipeline.stages import track

MODELS = {"popocs": {"learning_rate": 0.1}, "sinkhorn": {"learning_rate": 0.2}}
QUICK = {"models": MODELS, "methods": {"popocs_20": {"model": "popocs", "iterations": 20}, "gcc": {}}}
IMITATION = {"task": "imitation", "models": {"pointer": {"encoder": {"kind": "attention"}}}, "methods": {}}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "commit", lambda: ("c" * 40, False))
    return tmp_path


def history(place: dict[str, str]) -> pd.DataFrame:
    lines = [
        (step, split, 1.0 / step, 0.1 * step, 1.0, 0.1) for step in (1, 2) for split in ("training", "development")
    ]
    return pd.DataFrame(lines, columns=tables.SCHEMAS["history"].names).assign(**place)


def results(experiment: str, *methods: str, seeds: tuple[str, ...] = ("0", "all")) -> pd.DataFrame:
    place = {"experiment": experiment, "set": "test_5", "target": "gcc", "decoder": "beam"}
    gained = {"judge": "atom", "baseline": "gcc", "comparison": "ratio"}
    lines = [rows.row(place, "exact_match", 0.5, n=9, method=name, seed=seed) for name in methods for seed in seeds]
    lines += [rows.row(place, "cycles", 0.9, n=9, method=name, seed=seeds[-1], **gained) for name in methods]
    return rows.results(lines)


def fresh() -> None:
    """The tables of experiment quick, and the report."""
    for model in MODELS:
        place = {"experiment": "quick", "dependencies": "full", "model": model, "seed": "0"}
        lines = history({})
        tables.write(lines, "history", Path(places.path("history", **place)))
        Path(places.path("weights", **place)).write_bytes(model.encode())
    numbers = results("quick", "popocs_20", "sinkhorn", "gcc")
    tables.write(numbers, "results", Path(places.path("results", experiment="quick")))
    for name in (*FILES, "results.csv", "metrics.json"):
        (Path("reports") / name).parent.mkdir(parents=True, exist_ok=True)
        (Path("reports") / name).write_text(name)
    splits = pd.DataFrame({"block_id": ["0" * 32], "split": ["test"], "input_order": [[0, 1]]})
    tables.write(splits, "splits", Path(places.path("splits", dependencies="full")))


def log(settings: dict, folders: list[Path] | None = None) -> bytes:
    data = Path("data")
    track.main(
        settings=json.dumps(settings),
        log=data / "tracked/runs.json",
        results=sorted(data.glob("experiments/*/results.parquet")),
        history=sorted(data.glob("experiments/*/models/*/*/*/history.parquet")),
        weights=sorted(data.glob("experiments/*/models/*/*/*/weights.safetensors")),
        splits=sorted(data.glob("splits/*.parquet")),
        reports=Path("reports"),
        folders=folders,
    )
    return (data / "tracked/runs.json").read_bytes()


def names(listing: bytes) -> list[str]:
    return [run["name"] for run in json.loads(listing)["runs"]]


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


def test_fresh_runs_are_kept_replaced_or_superseded(here: Path) -> None:
    fresh()
    first = log({"quick": QUICK})
    assert names(first) == ["quick/full/popocs/0", "quick/full/sinkhorn/0", "quick/report"]
    runs = everything()
    assert sorted(run.info.run_name for run in runs) == names(first)
    network = next(run for run in runs if run.info.run_name == "quick/full/popocs/0")
    assert network.data.metrics["test_5.popocs_20.beam.exact_match"] == 0.5
    assert not any("sinkhorn" in name for name in network.data.metrics)
    assert network.data.metrics["development/exact_match"] == 0.2
    assert network.data.params["learning_rate"] == "0.1"
    tags = network.data.tags
    assert tags["group"] == "quick/full" and tags["older"] == "no" and tags["git_commit"] == "c" * 40
    assert tags["dirty"] == "False" and tags["processor"]
    report = next(run for run in runs if run.info.run_name == "quick/report")
    logged = {path.name for path in (here / "mlartifacts" / report.info.run_id).rglob("report/*")}
    assert set(FILES) <= logged

    assert log({"quick": QUICK}) == first and ids(everything()) == ids(runs)

    weights = places.path("weights", experiment="quick", dependencies="full", model="popocs", seed=0)
    Path(weights).write_bytes(b"other weights")
    assert log({"quick": QUICK}) != first
    replaced = everything()
    assert len(replaced) == len(runs) and len(ids(replaced) - ids(runs)) == 1
    assert not (here / "mlartifacts" / network.info.run_id).exists()

    changed = {**QUICK, "models": {**MODELS, "popocs": {"learning_rate": 0.5}}}
    log({"quick": changed})
    states = [run.data.tags["state"] for run in everything() if "popocs" in run.info.run_name]
    assert sorted(states) == ["current", "superseded"]


def frozen() -> list[Path]:
    """Published: an imitation with two trainings, and methods for processors; their sources are recorded."""
    Path("code.py").write_text("X = 1\n")
    lines = [
        history({"experiment": "imitation", "dependencies": "full", "model": "pointer", "seed": seed})
        for seed in ("0", "1")
    ]
    measured = pd.concat([results("imitation", "pointer", seeds=("0", "1", "all")), _sizes()])
    folder = Path("reports/published")
    frames = {"results": measured, "history": pd.concat(lines)[published.columns("history")]}
    published.write(folder / "imitation", frames, IMITATION, ["code.py"])
    gained = results("processors", "cp_sat", "gcc")
    settings = {"methods": {"cp_sat": {"method": "cp_sat", "seconds": 1}}}
    published.write(folder / "processors", {"results": gained}, settings, ["code.py"])
    return sorted(folder.iterdir())


def _sizes() -> pd.DataFrame:
    place = {"experiment": "imitation", "set": "training", "target": "gcc", "method": "pointer", "seed": "all"}
    return rows.results([rows.row(place, "parameters", 1_204_000)])


def test_published_experiments_are_runs_with_the_settings_and_the_source_that_were_recorded(here: Path) -> None:
    assert names(log({})) == [] and not Path("mlflow.db").exists()  # nothing is there: no store is made
    folders = frozen()
    first = log({"imitation": IMITATION}, folders)
    assert names(first) == [
        *(f"imitation/full/pointer/{seed}" for seed in range(2)),
        *("processors/cp_sat", "processors/gcc"),
    ]
    runs = {run.info.run_name: run.data for run in everything()}
    trained = runs["imitation/full/pointer/1"]
    assert trained.params["encoder.kind"] == "attention" and trained.params["seed"] == "1"
    assert trained.metrics["test_5.pointer.beam.exact_match"] == 0.5
    assert trained.metrics["training.parameters"] == 1_204_000 and trained.metrics["development/exact_match"] == 0.2
    assert trained.tags["older"] == "no" and trained.tags["git_commit"] == "c" * 40 and trained.tags["published"]
    method = runs["processors/cp_sat"]
    assert method.params["seconds"] == "1" and method.metrics["test_5.gcc.beam.cycles.ratio.gcc.atom"] == 0.9
    assert set(runs["processors/gcc"].params) == {"experiment", "method"}

    before = ids(everything())
    assert log({"imitation": IMITATION}, folders) == first and ids(everything()) == before

    # What changed since is said of the same runs; the settings that they carry stay those that were recorded.
    Path("code.py").write_text("X = 2\n")
    now = {**IMITATION, "models": {"pointer": {"encoder": {"kind": "lstm"}}}}
    assert log({"imitation": now}, folders) == first and ids(everything()) == before
    older = next(run.data for run in everything() if run.info.run_name == "imitation/full/pointer/0")
    assert older.tags["older"] == "yes" and "code.py has changed" in older.tags["older_why"]
    assert "models.pointer.encoder.kind: attention then, lstm now" in older.tags["older_why"]
    assert older.params["encoder.kind"] == "attention"

    # A fresh experiment stands for its published numbers; what is unknown is said.
    fresh()
    folder = Path("reports/published")
    published.write(folder / "quick", {"results": results("quick", "gcc")}, QUICK, [])
    published.write(folder / "old", {"results": results("old", "gcc")}, {}, [])
    path = folder / "old" / published.PROVENANCE
    unknown = json.loads(path.read_text()) | dict.fromkeys(("commit", "sources", "settings", "processor"), "unknown")
    path.write_text(json.dumps(unknown))
    assert names(log({"quick": QUICK, "old": {}}, [folder / "old", folder / "quick"]))[-2:] == [
        "quick/report",
        "old/gcc",
    ]
    (tags,) = (run.data.tags for run in everything() if run.info.run_name == "old/gcc")
    assert tags["git_commit"] == tags["processor"] == "unknown" and tags["older"] == "yes"
    assert "sources were not recorded" in tags["older_why"]
