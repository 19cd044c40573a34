"""Tracking is idempotent: run twice, nothing changes; what changed stands beside what was."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from mlflow import MlflowClient

from pipeline.lab import digests, places, provenance, published, rows, runs, tables
from pipeline.lab.shared_tables import HISTORY, RESULTS
from pipeline.lab.stages import experiment_tags, run_store, track

pytestmark = pytest.mark.slow

MODELS = {"popocs": {"learning_rate": 0.1}, "sinkhorn": {"learning_rate": 0.2}}
METHODS = {"popocs_20": {"model": "popocs", "iterations": 20}, "gcc": {}}
QUICK = {"task": "reproduction", "sets": ["test_5"], "models": MODELS, "methods": METHODS}
GCC = "gcc (reference)"
NAMES = [GCC, "popocs_20", "sinkhorn", "full/popocs/0", "full/sinkhorn/0", "tables"]
IMITATION = {"task": "imitation", "models": {"pointer": {"encoder": {"kind": "attention"}}}, "methods": {}}
PROCESSORS = {"task": "processors", "methods": {"cp_sat": {"method": "cp_sat", "seconds": 1}}}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "commit", lambda: ("c" * 40, False))
    return tmp_path


def history(place: dict[str, str]) -> pd.DataFrame:
    lines = [
        (step, split, 1.0 / step, 0.1 * step, 1.0, 0.1) for step in (1, 2) for split in ("training", "development")
    ]
    return pd.DataFrame(lines, columns=HISTORY.schema.names).assign(**place)


def results(
    experiment: str, *methods: str, seeds: tuple[str, ...] = ("0", "all"), values: Mapping[str, float] | None = None
) -> pd.DataFrame:
    values = values or {}
    place = {"experiment": experiment, "set": "test_5", "target": "gcc", "decoder": "beam"}
    gained = {"judge": "atom", "baseline": "gcc", "comparison": "ratio"}
    lines = [
        rows.row(place, "exact_match", values.get(name, 0.5), n=9, method=name, seed=seed)
        for name in methods
        for seed in seeds
    ]
    lines += [rows.row(place, "cycles", 0.9, n=9, method=name, seed=seeds[-1], **gained) for name in methods]
    return rows.results(lines)


def fresh(values: Mapping[str, float] | None = None) -> None:
    """The tables of experiment quick; `values`: exact matches of methods that have not 0.5."""
    for model in MODELS:
        place = {"experiment": "quick", "dependencies": "full", "model": model, "seed": "0"}
        lines = history({})
        tables.write(lines, HISTORY, Path(places.path("history", **place)))
        Path(places.path("weights", **place)).write_bytes(model.encode())
    Path("data/sets").mkdir(exist_ok=True)
    for name in ("test_5", "of_others"):
        Path("data/sets", f"{name}.parquet").write_text(name)
    numbers = results("quick", "popocs_20", "sinkhorn", "gcc", values=values)
    tables.write(numbers, RESULTS, Path(places.path("results", experiment="quick")))


def log(settings: dict, folders: list[Path] | None = None) -> bytes:
    root = Path("data")
    track.main(
        settings=json.dumps(settings),
        log=root / "tracked/runs.json",
        results=sorted(root.glob("experiments/*/results.parquet")),
        history=sorted(root.glob("experiments/*/models/*/*/*/history.parquet")),
        weights=sorted(root.glob("experiments/*/models/*/*/*/weights.safetensors")),
        folders=folders,
        data=sorted(root.glob("sets/*.parquet")),
    )
    return (root / "tracked/runs.json").read_bytes()


def names(listing: bytes) -> list[str]:
    return [run["name"] for run in json.loads(listing)["runs"]]


def digest_of(set: str) -> str:
    return digests.of_file(Path("data/sets", f"{set}.parquet"))


def client() -> MlflowClient:
    return MlflowClient(f"sqlite:///{run_store.STORE.resolve()}")


def everything(experiment: str) -> list:
    """All runs of the experiment."""
    return list(client().search_runs([client().get_experiment_by_name(experiment).experiment_id]))


def ids(runs: list) -> set[str]:
    return {run.info.run_id for run in runs}


def test_fresh_runs_are_kept_or_superseded(work: Path) -> None:
    fresh()
    first = log({"quick": QUICK})
    assert names(first) == NAMES
    runs = everything("quick")
    assert sorted(run.info.run_name for run in runs) == sorted(NAMES)
    network, method, tables_run = (
        next(run for run in runs if run.info.run_name == name) for name in ("full/popocs/0", "popocs_20", "tables")
    )
    assert network.data.metrics["test_5/popocs_20/beam/exact_match: up"] == 0.5
    assert not any("sinkhorn" in name for name in network.data.metrics)
    assert network.data.metrics["development/exact_match: up"] == 0.2
    assert network.data.params["model.learning_rate"] == method.data.params["model.learning_rate"] == "0.1"
    assert method.data.metrics == {"test_5/exact_match: up": 0.5, "test_5/beam/cycles.ratio.gcc.atom: down": 0.9}
    assert method.data.params["method.iterations"] == "20" and method.data.params["sets"] == "['test_5']"
    (used,) = method.inputs.dataset_inputs
    assert used.dataset.name == "test_5" and digest_of("test_5").startswith(used.dataset.digest)
    assert next(run.data.tags["reference"] for run in runs if run.info.run_name == GCC) == "true"
    tags = network.data.tags
    assert tags["kind"] == "training" and tags["git_commit"] == "c" * 40
    assert tags["dirty"] == "False" and tags["processor"]
    folder = work / "mlartifacts/quick"
    logged = {path.name for path in (folder / tables_run.info.run_id).rglob("*.*")}
    assert logged == {"results.parquet"}
    assert {path.name for path in (folder / network.info.run_id).rglob("*.*")} == {"weights.safetensors"}

    assert log({"quick": QUICK}) == first and ids(everything("quick")) == ids(runs)

    weights = places.path("weights", experiment="quick", dependencies="full", model="popocs", seed=0)
    Path(weights).write_bytes(b"other weights")
    assert log({"quick": QUICK}) != first
    log({"quick": {**QUICK, "models": {**MODELS, "popocs": {"learning_rate": 0.5}}}})
    states = {run.info.run_id: run.data.tags["state"] for run in everything("quick")}
    assert len(states) == len(runs) + 3 and states[network.info.run_id] == states[method.info.run_id] == "superseded"
    assert list(states.values()).count("superseded") == 3


def test_an_experiment_says_what_it_is_and_opens_with_its_key_metrics() -> None:
    fresh({"sinkhorn": 0.9, "popocs_20": 0.123456})
    log({"quick": QUICK})
    experiment = client().get_experiment_by_name("quick")
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    note = experiment.tags["mlflow.note.content"]
    assert note.startswith(experiment_tags.page_of("quick").question)
    assert f"[methods, the best first]({experiment_tags.address('.', experiment.experiment_id)}), [tr" in note
    view = json.loads(experiment.tags["mlflow.sharedViewState.key_metrics"])
    assert view["selectedColumns"] == ["metrics.`test_5/exact_match: up`"]  # those of methods
    assert view["orderByKey"] == view["selectedColumns"][0] and not view["orderByAsc"]

    client().set_experiment_tag(experiment.experiment_id, "mlflow.note.content", "of an earlier version")
    client().delete_experiment(experiment.experiment_id)  # by hand: it comes back
    log({"quick": QUICK})
    again = client().get_experiment_by_name("quick")
    assert again.experiment_id == experiment.experiment_id and again.tags == experiment.tags
    assert sorted(run.info.run_name for run in everything("quick")) == sorted(NAMES)


def test_the_best_is_first_everywhere_with_numbers_and_pictures_to_be_read() -> None:
    """MLflow's own pages show first what was logged last."""
    log({"imitation": IMITATION}, frozen()[:1])  # imitation was logged earlier
    fresh({"sinkhorn": 0.9, "popocs_20": 0.123456})
    log({"quick": QUICK, "imitation": IMITATION, "processors": PROCESSORS}, frozen())
    latest = client().search_experiments(order_by=["last_update_time DESC"])
    assert [experiment.name for experiment in latest][:3] == ["quick", "imitation", "processors"]
    runs = sorted(everything("quick"), key=lambda run: run.info.start_time, reverse=True)
    *methods, tables_run = [run for run in runs if run.data.tags["kind"] != "training"]
    assert [run.info.run_name for run in methods] == ["sinkhorn", GCC, "popocs_20"]
    assert {run.data.tags.get("mlflow.parentRunId") for run in runs} == {None, tables_run.info.run_id}
    assert methods[2].data.metrics["test_5/exact_match: up"] == 0.1235
    for run in methods:
        assert f"picture.png&run_uuid={run.info.run_id})" in run.data.tags["mlflow.note.content"]
        assert "picture.png" in [file.path for file in client().list_artifacts(run.info.run_id)]


def test_the_store_of_a_folder_that_was_moved_is_refused() -> None:
    with run_store.opened() as store:
        store.create_experiment("imitation", "file:///another/folder")
    with pytest.raises(ValueError, match=r"or the folder was moved, delete mlflow\.db"):
        log({"imitation": IMITATION}, frozen())


def frozen() -> list[Path]:
    """Published: an imitation with two trainings, and methods for processors."""
    lines = [
        history({"experiment": "imitation", "dependencies": "full", "model": "pointer", "seed": seed})
        for seed in ("0", "1")
    ]
    measured = results("imitation", "pointer", seeds=("0", "1", "all"))
    folder = Path("reports/published")
    frames = {"results": measured, "history": pd.concat(lines)[published.columns(HISTORY)]}
    published.write(folder / "imitation", frames, IMITATION, {"dags/full": "1"})
    gained = results("processors", "cp_sat", "gcc")
    published.write(folder / "processors", {"results": gained}, PROCESSORS, {"dags/full": "1"})
    return sorted(folder.iterdir())


def test_published_experiments_are_runs_with_the_settings_and_the_source_that_were_recorded(work: Path) -> None:
    assert names(log({})) == [] and not Path("mlflow.db").exists()  # nothing is there: no store is made
    folders = frozen()
    settings = {"imitation": IMITATION, "processors": PROCESSORS}
    first = log(settings, folders)
    assert names(first) == [
        *("pointer", "full/pointer/0", "full/pointer/1", "tables"),
        *("cp_sat", GCC, "tables"),
    ]
    runs = {run.info.run_name: run.data for run in everything("imitation")}
    trained = runs["full/pointer/1"]
    assert trained.params["model.encoder.kind"] == "attention" and trained.params["seed"] == "1"
    assert trained.metrics["test_5/pointer/beam/exact_match: up"] == 0.5
    assert trained.metrics["development/exact_match: up"] == 0.2
    assert trained.tags["git_commit"] == "c" * 40 and trained.tags["published"]
    assert runs["pointer"].metrics["test_5/exact_match: up"] == 0.5
    of_processors = {run.info.run_name: run.data for run in everything("processors")}
    method = of_processors["cp_sat"]
    assert method.params["method.seconds"] == "1" and method.metrics["test_5/beam/cycles.ratio.gcc.atom: down"] == 0.9
    assert set(of_processors[GCC].params) == {"experiment", "method", "task"}

    before = ids(everything("imitation"))
    assert log(settings, folders) == first and ids(everything("imitation")) == before

    # The settings that they carry stay those that were recorded.
    now = {**IMITATION, "models": {"pointer": {"encoder": {"kind": "lstm"}}}}
    assert log(settings | {"imitation": now}, folders) == first and ids(everything("imitation")) == before

    # A fresh experiment stands for its published numbers; what is unknown is said.
    fresh()
    folder = Path("reports/published")
    published.write(folder / "quick", {"results": results("quick", "gcc")}, QUICK, {})
    published.write(folder / "old", {"results": results("old", "gcc")}, {}, {})
    path = folder / "old" / published.PROVENANCE
    unknown = json.loads(path.read_text()) | dict.fromkeys(("commit", "settings", "processor"), "unknown")
    path.write_text(json.dumps(unknown))
    of_old = {"quick": QUICK, "old": {"task": "imitation"}}
    listing = log(of_old, [folder / "old", folder / "quick"])
    assert names(listing) == [*NAMES, GCC, "tables"]
    tags = next(run.data.tags for run in everything("old") if run.info.run_name == GCC)
    assert tags["git_commit"] == tags["processor"] == "unknown"

    # What has no code today is in the report alone.
    path.write_text(json.dumps(unknown | {"frozen": "c" * 40}))
    assert names(log(of_old, [folder / "old"])) == NAMES


def test_trials_differ_in_their_parameters_and_tags_and_the_way_back_is_shown(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `dvc exp run` and `make adopt` do: another setting with other numbers, then the first ones again."""

    def run_with(iterations: int) -> None:
        (work / "params.yaml").write_text(f"judges: {{atom: {{iterations: {iterations}}}}}")
        fresh({"popocs_20": 0.1 * iterations})
        log({"quick": QUICK | {"judges": {"atom": {"iterations": iterations}}}})

    git = ["git", "-c", "user.name=me", "-c", "user.email=me@here"]
    run_with(1)
    for arguments in (["init", "-q"], ["add", "params.yaml"], ["commit", "-qm", "true"]):
        subprocess.run([*git, *arguments], check=True)
    for iterations in (2, 3):
        monkeypatch.setenv("DVC_EXP_NAME", f"trial-{iterations}")
        run_with(iterations)
    monkeypatch.delenv("DVC_EXP_NAME")
    run_with(1)
    runs = [run for run in everything("quick") if run.info.run_name == "popocs_20"]
    by_iterations = {
        run.data.params["judges.atom.iterations"]: (*map(run.data.tags.get, ("state", "trial", "changed")),)
        for run in runs
    }
    assert by_iterations == {
        "1": ("current", None, None),
        **{n: ("superseded", f"trial-{n}", f"judges.atom.iterations={n}") for n in ("2", "3")},
    }


def test_a_run_has_the_time_of_its_work(work: Path) -> None:
    fresh()
    timed = work / "benchmarks/rules/evaluate/quick/all.tsv"
    timed.parent.mkdir(parents=True)
    timed.write_text("s\th:m:s\n40\t0:00:40\n")
    os.utime(timed, (1000, 1000))
    os.utime(places.path("results", experiment="quick"), (1010, 1010))
    log({"quick": QUICK})
    run = next(run for run in everything("quick") if run.info.run_name == "popocs_20")
    assert (run.info.start_time // 1000, run.info.end_time // 1000) == (960, 1010)


def test_runs_with_equal_parameters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh()
    of_methods = runs.methods
    monkeypatch.setattr(runs, "methods", lambda *where: [*of_methods(*where), of_methods(*where)[0]])
    with pytest.raises(ValueError, match=r"\['quick'\] have equal parameters"):
        log({"quick": QUICK})
