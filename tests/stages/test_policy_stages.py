"""Stages of learned policies: training, schedules, distances, numbers, the shipped policy."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.devices.distances import start_distances
from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.models.policy import load, save
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.learning.checkpoints import Checkpoint
from learned_schedulers.section import ConfigError
from pipeline.graph_sets.tables import GRAPH_CANDIDATES
from pipeline.lab import places, tables
from pipeline.lab.graph_table import read_graphs, write_graphs
from pipeline.lab.shared_tables import GRAPH_SCHEDULES, MAKESPANS, PARTS, POLICY_HISTORY, RESULTS
from pipeline.lab.stages import evaluate_graphs, judge_graphs, schedule_graphs
from pipeline.policies.stages import measure_distances, train_policy
from pipeline.policies.tables import SCHEDULE_DISTANCES
from tests.graphs.models import small_policies

pytestmark = pytest.mark.slow

SETTINGS = small_policies.settings(steps=4, trajectories=4, measurements=2, most_operations=8)
TARGETS = ["proxy", "latency"]
MACHINES: dict[str, Any] = {"device": None, "devices": 3, "links": {}, "targets": TARGETS}
PLACE = {"experiment": "e", "graph_set": "s"}
METHODS: dict[str, dict[str, Any]] = {
    "list_scheduling": {"method": "list_scheduling"},
    "randomised_list": {"method": "randomised_list"},
    "gflownet": {"method": "gflownet", "sigma": 0.05},
    "gflownet_warm": {"method": "gflownet", "sigma": 0.5},
    "gflownet_hot": {"method": "gflownet", "sigma": 5.0},
    "gflownet_on_target": {"method": "gflownet", "told": "target"},
}
STRENGTHS = FROZEN / "graph_targets.csv"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are in the folder of the process."""
    monkeypatch.chdir(tmp_path)


def graphs(path: Path, sizes: list[int], seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    write_graphs(path, [synthetic.draw("layered", n, rng, f"layered_{k}") for k, n in enumerate(sizes)])
    return path


class Trained(NamedTuple):
    weights: Path
    history: Path


def train(folder: Path, seed: int = 0, machines: int = 3, **changes: Any) -> Trained:
    """Two training sets, the second with two devices, and a development set."""
    inputs = [graphs(folder / f"{name}.parquet", sizes, k) for k, (name, sizes) in enumerate(SETS.items())]
    where = json.dumps([MACHINES, MACHINES | {"devices": 2}, MACHINES][:machines])
    out = Trained(folder / "out" / "weights.safetensors", folder / "out" / "history.parquet")
    settings = SETTINGS.model_copy(update=changes).model_dump_json()
    train_policy.main(settings, where, seed, inputs[:2], inputs[2], *out)
    return out


SETS = {"first": [0, 5, 8, 9], "second": [6], "development": [7, 20]}


def test_a_policy_is_trained_on_graphs_that_are_small_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: list[Any] = []
    right = train_policy.train

    def training(*each: Any) -> Any:
        arguments.append(each)
        return right(*each)

    monkeypatch.setattr(train_policy, "train", training)
    weights, history = train(tmp_path)
    ((learned, watched, _, seed, resume, _),) = arguments
    assert [[len(job) for job in each] for each in learned] == [[5, 8], [6]] and [len(job) for job in watched] == [7]
    assert [[job.devices for job in each] for each in learned] == [[3, 3], [2]] and seed == 0 and resume is None
    assert load(weights).settings == SETTINGS
    rows = tables.read(POLICY_HISTORY, history)
    assert rows["step"].tolist() == [2, 2, 4, 4] and set(rows["split"]) == {"training", "development"}
    assert not list((tmp_path / ".cache/checkpoints").glob("*"))  # it is done


def test_an_interrupted_training_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = [path.read_bytes() for path in train(tmp_path)]
    keep = Checkpoint.save

    def killed(self: Checkpoint, state: dict[str, Any]) -> None:
        keep(self, state)
        raise KeyboardInterrupt

    for path in (tmp_path / "out").iterdir():
        path.unlink()
    monkeypatch.setattr(Checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path)
    assert not list((tmp_path / "out").iterdir())
    saved: list[int] = []

    def counted(self: Checkpoint, state: dict[str, Any]) -> None:
        saved.append(state["step"])
        keep(self, state)

    monkeypatch.setattr(Checkpoint, "save", counted)
    assert [path.read_bytes() for path in train(tmp_path)] == whole
    assert "resuming at step 2 of 4" in capsys.readouterr().err and saved == [4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"most_operations": 4}, "first.parquet: no graph has 1 to 4 operations; raise most_operations, or take"),
        ({"most_operations": 6}, "development.parquet: no graph has 1 to 6 operations"),
    ],
)
def test_a_set_without_a_small_graph_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        train(tmp_path, **changes)
    assert not (tmp_path / "out").exists()


def test_what_is_no_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="least_sigma"):
        train(tmp_path, least_sigma=2.0)
    with pytest.raises(ConfigError, match="trajectories"):
        train(tmp_path, trajectories=1)
    untimed = [replace(graph, seconds=np.zeros(0)) for graph in read_graphs(graphs(tmp_path / "g", [5]))]
    write_graphs(tmp_path / "untimed", untimed)
    out = tmp_path / "out/weights", tmp_path / "out/history"
    machines = json.dumps([MACHINES, MACHINES])
    with pytest.raises(ValueError, match="graph layered_0: it has no run times"):
        train_policy.main(SETTINGS.model_dump_json(), machines, 0, [tmp_path / "untimed"], tmp_path / "untimed", *out)
    (tmp_path / "damaged").write_bytes(b"nothing")
    with pytest.raises(tables.TableError, match="damaged: table graphs is damaged"):
        train_policy.main(SETTINGS.model_dump_json(), machines, 0, [tmp_path / "g"], tmp_path / "damaged", *out)
    with pytest.raises(ValueError, match="--machines describes 2 sets, but 3 are given"):
        train(tmp_path, machines=2)
    with pytest.raises(tables.TableError, match="missing: table graphs is missing"):
        train_policy.main(SETTINGS.model_dump_json(), machines, 0, [tmp_path / "missing"], tmp_path / "g", *out)
    assert not (tmp_path / "out").exists()


def place(folder: Path, kind: str, **names: object) -> Path:
    return folder / places.path(kind, **names)


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three graphs with schedules of every method, makespans and distances; the policy is untrained."""
    folder = tmp_path_factory.mktemp("policies")
    sets, weights = graphs(place(folder, "graphs", graph_set="s"), [6, 9, 12]), folder / "weights.safetensors"
    save(small_policies.policy(), weights)
    for name, entry in METHODS.items():
        for seed in (0,) if name == "list_scheduling" else (0, 1):
            network = weights if entry["method"] == "gflownet" else None
            out = place(folder, "graph_schedules", **PLACE, method=name, seed=seed)
            schedule_graphs.main(json.dumps(entry), json.dumps(MACHINES), seed, sets, STRENGTHS, out, network)
    judge_graphs.main(json.dumps(MACHINES), sets, schedules(folder), STRENGTHS, place(folder, "makespans", **PLACE))
    measure_distances.main(json.dumps(MACHINES), sets, schedules(folder), place(folder, "schedule_distances", **PLACE))
    candidates = [
        {"graph_id": graph.graph_id, "name": graph.name, "family": graph.family, "variant": "drawn", "extent": "whole"}
        | {"operations": len(graph), "edges": 1, "headroom": 2.0, "fits_one_device": True}
        | {"counts": True, "refused": ""}
        for graph in read_graphs(sets)
    ]
    tables.write(pd.DataFrame(candidates), GRAPH_CANDIDATES, place(folder, "graph_candidates", graph_set="s"))
    return folder


def schedules(folder: Path) -> list[Path]:
    return sorted((folder / "data/experiments/e/graph_schedules").rglob("*.parquet"))


def test_distances_are_those_of_the_schedules_that_see_the_proxy(scheduled: Path) -> None:
    numbers = tables.read(SCHEDULE_DISTANCES, place(scheduled, "schedule_distances", **PLACE))
    assert len(numbers) == 3 * 2 * (1 + 2 * 5)  # graphs, rules, list scheduling once and five methods with two seeds
    assert not numbers.duplicated(["graph_id", "method", "seed", "kept_by"]).any()
    assert not numbers.loc[numbers["method"] == "list_scheduling", ["start_distance", "placed_start_distance"]].any(
        axis=None
    )
    jobs = {graph.graph_id: problem_of(graph, 3) for graph in read_graphs(place(scheduled, "graphs", graph_set="s"))}
    table = tables.read(GRAPH_SCHEDULES, place(scheduled, "graph_schedules", **PLACE, method="gflownet_hot", seed=1))
    of = numbers[(numbers["method"] == "gflownet_hot") & (numbers["seed"] == 1)].set_index(["graph_id", "kept_by"])
    for distances in table.to_dict("records"):
        shape = -1, distances["operations"]
        parts = (distances[name].reshape(shape).astype(np.int32) for name in ("orders", "placements"))
        expected = start_distances(jobs[distances["graph_id"]], *parts)
        assert (
            tuple(of.loc[(distances["graph_id"], distances["kept_by"])][["start_distance", "placed_start_distance"]])
            == expected
        )
    assert (of["start_distance"] > 0).all()


def test_distances_of_schedules_that_lie_elsewhere_are_refused(scheduled: Path, tmp_path: Path) -> None:
    sets, out = place(scheduled, "graphs", graph_set="s"), tmp_path / "out/distances.parquet"
    strange = tmp_path / "schedules.parquet"
    strange.write_bytes(schedules(scheduled)[0].read_bytes())
    with pytest.raises(ValueError, match=r"schedules\.parquet: expected a path that ends in"):
        measure_distances.main(json.dumps(MACHINES), sets, [strange], out)
    damaged = place(tmp_path, "graph_schedules", **PLACE, method="m", seed=0)
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"nothing")
    with pytest.raises(tables.TableError, match=r"0\.parquet: table graph_schedules is damaged"):
        measure_distances.main(json.dumps(MACHINES), sets, [damaged], out)
    unknown = graphs(tmp_path / "others", [6], seed=1)
    with pytest.raises(ValueError, match=r"0\.parquet has schedules of graph .*, which is not in .*others"):
        measure_distances.main(json.dumps(MACHINES), unknown, schedules(scheduled), out)
    with pytest.raises(ConfigError, match="devices"):
        measure_distances.main(json.dumps(MACHINES | {"devices": 0}), sets, schedules(scheduled), out)
    assert not out.parent.exists()


def evaluate(folder: Path, out: Path, methods: str = json.dumps(METHODS), **inputs: Path) -> pd.DataFrame:
    intervals = json.dumps({"bootstrap_samples": 20, "confidence": 0.95})
    kinds = {"graphs": {"graph_set": "s"}, "graph_candidates": {"graph_set": "s"}}
    kinds |= {"makespans": PLACE, "schedule_distances": PLACE}
    read = [inputs.get(kind, place(folder, kind, **names)) for kind, names in kinds.items()]
    outputs = out / "results.parquet", out / "parts.parquet"
    peers = ["randomised_list"]
    evaluate_graphs.main("e", "policies", intervals, methods, read, *outputs, peers=peers, strengths=STRENGTHS)
    tables.read(PARTS, outputs[1])
    return tables.read(RESULTS, outputs[0])


def test_numbers_of_damaged_or_missing_tables_are_refused(scheduled: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    missing = place(tmp_path, "schedule_distances", **PLACE)
    with pytest.raises(tables.TableError, match=r"s\.parquet: table schedule_distances is missing"):
        evaluate(scheduled, out, schedule_distances=missing)
    judged = tables.read(MAKESPANS, place(scheduled, "makespans", **PLACE))
    without = place(tmp_path, "makespans", **PLACE)
    tables.write(judged[judged["method"] != "list_scheduling"], MAKESPANS, without)
    with pytest.raises(ValueError, match="e: s has no schedules of list_scheduling"):
        evaluate(scheduled, out, makespans=without)
    with pytest.raises(ConfigError, match="sigma"):
        evaluate(scheduled, out, json.dumps(METHODS | {"gflownet": {"method": "gflownet", "sigma": -1}}))
    assert not out.exists()
