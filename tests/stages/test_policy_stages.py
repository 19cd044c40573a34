"""The stage that trains policies: which graphs it takes, and what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from learned_schedulers.graphs.models.policy import load
from learned_schedulers.graphs.read import synthetic
from learned_schedulers.section import ConfigError
from pipeline.lab import tables
from pipeline.lab.graph_table import read_graphs, write_graphs
from pipeline.lab.shared_tables import POLICY_HISTORY
from pipeline.policies.stages import train_policy
from tests.graphs.models import small_policies

pytestmark = pytest.mark.slow

SETTINGS = small_policies.settings(steps=4, trajectories=4, measurements=2, most_operations=8)
MACHINES: dict[str, Any] = {"device": None, "devices": 3, "links": {}, "targets": ["proxy", "latency"]}


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
    untimed = [replace(graph, seconds=np.zeros(0)) for graph in read_graphs(graphs(tmp_path / "g", [5]))]
    write_graphs(tmp_path / "untimed", untimed)
    out = tmp_path / "out/weights", tmp_path / "out/history"
    machines = json.dumps([MACHINES, MACHINES])
    with pytest.raises(ValueError, match="graph layered_0: it has no run times"):
        train_policy.main(SETTINGS.model_dump_json(), machines, 0, [tmp_path / "untimed"], tmp_path / "untimed", *out)
    with pytest.raises(ValueError, match="--machines describes 2 sets, but 3 are given"):
        train(tmp_path, machines=2)
    assert not (tmp_path / "out").exists()
