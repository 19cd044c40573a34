"""An experiment's tables become a published folder, with the sizes of its networks and its provenance."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from pipeline.lab import chapters, places, provenance, published, rows, tables
from pipeline.lab.stages import publish
from tests.analysis.test_verification_results import sensitivity, verification

MODELS = {
    "large": {"training": "training"},
    "few": {"training": "training", "blocks": 20},
    "small": {"training": "other"},
}
TABLES = {"dags/full": "1", "experiments/imitation/results#large": "2", "graphs/sets": "3"}
SETTINGS = {"task": "imitation", "models": MODELS, "methods": {}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "commit", lambda: ("f" * 40, True))
    Path("behaviour.json").write_text(json.dumps({"processors": [], "tables": TABLES}))
    return tmp_path


def table_at(kind: str, content: dict | pd.DataFrame, table: str = "", **fields: object) -> Path:
    """A table at its place (places.py)."""
    frame = content if isinstance(content, pd.DataFrame) else pd.DataFrame([content])
    path = Path(places.path(kind, **fields))
    tables.write(frame, chapters.tables()[table or kind], path)
    return path


def publishes(experiment: str, paths: list[Path], settings: dict | None = None, **more: Any) -> dict:
    """The experiment's published tables."""
    publish.main(experiment, paths, json.dumps(settings or {}), Path("published") / experiment, **more)
    return published.load(Path("published").iterdir()).tables


def results(experiment: str = "imitation") -> pd.DataFrame:
    place = {"experiment": experiment, "set": "test_5", "target": "gcc", "method": "large", "decoder": "beam"}
    return rows.results(rows.row(place, "exact_match", 0.1 + k / 3, n=9, seed=str(k)) for k in range(2))


def history() -> dict:
    losses = {"loss": 0.5, "exact_match": np.nan, "valid_share": np.nan, "learning_rate": 0.1}
    return {"step": 5, "split": "training", **losses}


def test_an_imitation_is_published_with_the_sizes_of_its_networks(folder: Path) -> None:
    paths = [table_at("results", results(), experiment="imitation")]
    weights, sets = [], []
    for model in MODELS:
        for seed in (0, 1):
            place = {"experiment": "imitation", "dependencies": "full", "model": model, "seed": seed}
            paths.append(table_at("history", history(), **place))
            weights.append(Path(places.path("weights", **place)))
            save_file({"a": np.zeros((2, 3 + seed), np.float16), "b": np.zeros(5, np.float16)}, weights[-1])
    for name, n in (("training", 50), ("other", 7)):
        blocks = pd.DataFrame({"block_id": [f"{k:032x}" for k in range(n)], "input_order": [[0, 1]] * n})
        sets.append(table_at("sets", blocks, set=name))
    shown = {"behaviour": Path("behaviour.json"), "alike": ["dags", "experiments/imitation"]}
    frames = publishes("imitation", paths, SETTINGS, inputs=sets, weights=weights, **shown)
    measured = frames["results"].query("set == 'test_5'")
    assert measured["value"].tolist() == [0.1, 0.433333]  # six digits
    sizes = frames["results"].query("set == 'training'")
    assert set(sizes["seed"]) == {"all"} and set(sizes["decoder"]) == {"none"} and len(sizes) == 9
    value = sizes.set_index(["method", "metric"])["value"]
    assert value["large", "parameters"] == 12  # 11 and 13
    assert value["few", "weights_bytes"] == sum(path.stat().st_size for path in weights[2:4]) / 2
    assert {model: value[model, "train_blocks"] for model in MODELS} == {"large": 50, "few": 20, "small": 7}
    assert set(frames["history"]["model"]) == set(MODELS) and set(frames["history"]["seed"]) == {"0", "1"}
    origin = published.load((folder / "published").iterdir()).provenance["imitation"]
    assert (
        origin.settings == SETTINGS
        and set(origin.behaviour) == {*TABLES} - {"graphs/sets"}
        and origin.seeds == ["0", "1"]
    )
    assert set(origin.inputs) == {str(path) for path in (*paths, *sets)} and len(origin.weights) == 6
    assert origin.commit == "f" * 40 and origin.dirty is True


def test_what_running_the_code_says_is_published_in_short() -> None:
    frames = publishes(
        "dag_verification", [table_at("verification", verification()), table_at("sensitivity", sensitivity())]
    )
    assert set(frames["results"]["experiment"]) == {"dag_verification"}
    counts = {name: len(frames[name]) for name in ("strata", "reasons", "swap_outcomes", "explanations")}
    assert all(counts.values()), counts


def test_faults_name_the_file_and_nothing_is_written() -> None:
    with pytest.raises(ValueError, match=r"tokens\.parquet lies where no table"):
        publishes("imitation", [Path("data/tokens/tokens.parquet")])
    with pytest.raises(ValueError, match=r"results are of \['other'\], not of imitation"):
        publishes("imitation", [table_at("results", results("other"), experiment="other")])
    path = table_at("results", results(), experiment="imitation")
    weights = [Path(places.path("weights", experiment="imitation", dependencies="full", model="large", seed=0))]
    with pytest.raises(ValueError, match="trained on the set training: name its table"):
        publishes("imitation", [path], SETTINGS, weights=weights)
    with pytest.raises(tables.TableError, match=r"parts\.parquet"):
        publishes("imitation", [path, Path("data/experiments/imitation/parts.parquet")])
    assert not Path("published").exists()


def test_trainings_of_policies_keep_their_model_and_seed() -> None:
    measured = {"step": 9, "split": "development", "loss": 0.5, "mean": 0.75, "best": 0.9, "learning_rate": 0.1}
    paths = [
        table_at("policy_history", measured | {"gradient": np.nan}, experiment="gflownet", model=model, seed=seed)
        for model in ("gflownet", "ppo")
        for seed in (0, 1)
    ]
    trainings = publishes("gflownet", paths)["policy_trainings"]
    assert set(trainings["experiment"]) == {"gflownet"} and set(trainings["best"]) == {0.9}
    pairs = list(zip(trainings["model"], trainings["seed"], strict=True))
    assert pairs == [("gflownet", "0"), ("gflownet", "1"), ("ppo", "0"), ("ppo", "1")]
