"""What was published becomes flat runs; what is logged stays, what changed is replaced, nothing is trained."""

import json
from pathlib import Path

import pytest

from pipeline.analysis import tidy
from pipeline.config.params import load
from pipeline.stages import track_published
from pipeline.wiring import ROOT
from tests.analysis import imitations, scheduling, synthetic
from tests.stages.test_track import everything, ids

SCHEDULING = load(ROOT / "params.yaml").scheduling


def log(settings: dict) -> list[str]:
    published = " ".join(map(str, sorted(Path("reports/published").glob("*.csv"))))
    out = Path("data/tracked/published.json")
    track_published.main(json.dumps(settings), SCHEDULING.model_dump_json(), out, published)
    return [run["name"] for run in json.loads(Path("data/tracked/published.json").read_text())["runs"]]


def test_published_imitators_are_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"imitation": synthetic.settings()["imitations"]["imitation"]}
    assert log(settings) == [] and not Path("mlflow.db").exists()  # nothing is published: no store is made

    imitations.frozen(tmp_path)
    names = [f"imitation/attention_pointer/{seed}" for seed in range(3)]
    assert log(settings) == names
    runs = everything()
    assert sorted(run.info.run_name for run in runs) == names
    one = next(run for run in runs if run.info.run_name == names[1])
    assert one.data.tags["experiment"] == one.data.tags["group"] == "imitation"
    assert one.data.params["encoder.kind"] == "attention" and one.data.params["seed"] == "1"
    rate = settings["imitation"]["models"]["attention_pointer"]["learning_rate"]
    assert one.data.params["learning_rate"] == str(rate)
    metrics = one.data.metrics
    assert metrics["test_5.greedy.exact_match"] == pytest.approx(0.911)
    assert metrics["training.none.parameters"] == 1_204_000 and metrics["test_4_40.greedy.blocks_per_second"] == 9120
    last = imitations.history().query("seed == '1' and split == 'development' and step == 16000")
    assert metrics["development/exact_match"] == pytest.approx(last["exact_match"].item(), rel=1e-5)

    assert log(settings) == names and ids(everything()) == ids(runs)

    path = Path("reports/published/imitation_history.csv")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))  # a measurement less of the last seed
    log(settings)
    assert len(ids(everything()) - ids(runs)) == 1 and len(everything()) == 3


def test_a_model_that_the_parameters_no_longer_name_has_a_run_without_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = synthetic.settings()["imitations"]["imitation"]
    settings["models"] = {"another": settings["models"]["attention_pointer"]}
    imitations.frozen(tmp_path)
    assert len(log({"imitation": settings})) == 3
    assert {tuple(sorted(run.data.params)) for run in everything()} == {("experiment", "model", "seed")}


def test_published_schedulers_are_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports/published"
    folder.mkdir(parents=True)
    (folder / "latency.csv").write_text(tidy.csv(scheduling.results()))
    names = [f"latency/{name}" for name in ("cp_sat", "gcc", "learned_atom", "random_legal")]
    assert log({}) == names == log({})
    runs = {run.info.run_name: run.data for run in everything()}
    assert sorted(runs) == names
    assert runs["latency/cp_sat"].metrics["test_10_40.none.cycles_ratio_to_gcc_atom"] == pytest.approx(0.92)
    assert runs["latency/cp_sat"].params["method"] == "cp_sat" and "learning" not in runs["latency/cp_sat"].params
    assert runs["latency/learned_atom"].params["encoder.kind"] == "attention"
    assert runs["latency/learned_atom"].metrics["test_5.greedy.microseconds_per_block"] == pytest.approx(1147.62)
    assert set(runs["latency/gcc"].params) == {"experiment", "scheduler"}
