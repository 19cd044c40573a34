"""The frozen instances are those of the laboratory, and a damaged file is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.bench import graphs
from learned_schedulers.bench import instances as bench
from learned_schedulers.bench.instances import SETS, check_target, digest, instances
from learned_schedulers.graphs.devices.judging import FROZEN


@pytest.mark.parametrize("frozen_set", [each for each in graphs.SETS if each.name != "paper_sizes"], ids=str)
def test_they_are_those_that_were_frozen_before_any_training(frozen_set: graphs.GraphSet) -> None:
    name = frozen_set.name
    members = pd.read_csv(FROZEN / "graph_members.csv")
    problems = pd.read_parquet(FROZEN / "placement_problems.parquet")
    problems = problems[(problems["set"] == name) & (problems["devices"] == graphs.ON_DEVICES)]
    frozen = problems if frozen_set.limited else members[members["set"] == name]
    every = instances(name)
    assert {instance.graph_id for instance in every} == set(frozen["graph_id"])
    assert [instance.graph_id for instance in every] == sorted(frozen["graph_id"])
    if frozen_set.limited:
        memory = frozen.set_index("graph_id")["memory_bytes"]
        assert [instance.problem.memory for instance in every] == memory[[each.graph_id for each in every]].tolist()


def test_sets_share_nothing_with_those_that_settings_are_chosen_on() -> None:
    ids = {name: {instance.graph_id for instance in instances(name)} for name in SETS}
    chosen_on = set().union(*(ids[name] for name in SETS if "development" in name))
    assert not any(chosen_on & ids[name] for name in SETS if "development" not in name)


def test_digests_of_sets_that_results_were_handed_in_for_stay() -> None:
    assert digest(instances("unseen_real")) == "0f3c48f8011fb7ba74e5231448f9ce163169caa2420ed23b230f5eeb06514996"


@pytest.mark.parametrize("damage", ["another file", "cut", "missing"])
def test_a_file_that_is_not_the_frozen_one_is_refused(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(bench.FOLDER, tmp_path / "frozen")
    path = tmp_path / "frozen/unseen_real.parquet"
    if damage == "another file":
        shutil.copy(bench.FOLDER / "unseen_small.parquet", path)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        path.unlink()
    monkeypatch.setattr(bench, "FOLDER", tmp_path / "frozen")
    with pytest.raises(ValueError, match=r"unseen_real\.parquet: these are not the frozen instances.*install"):
        bench.instances.__wrapped__("unseen_real")


@pytest.mark.parametrize(
    ("name", "target", "message"),
    [
        ("unseen", "pcie", "no set 'unseen'; the sets are"),
        ("unseen_real", "ethernet", "no target 'ethernet'; its targets are proxy, noisy, bandwidth, latency, pcie"),
        ("placement_unseen", "bandwidth", "no target 'bandwidth'; its targets are pcie, nvlink"),
        ("placement_unseen", "bandwidth_0.3", "its targets are pcie, nvlink"),
        ("unseen_synthetic", "pcie", "no target 'pcie'"),
        ("unseen_real", "bandwidth_x", "no target 'bandwidth_x'"),
    ],
)
def test_what_does_not_exist_is_named(name: str, target: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_target(name, target)
    check_target("unseen_real", "bandwidth_0.3")


def test_random_draws_are_those_of_the_laboratory() -> None:
    """pipeline/lab/stages/schedule_graphs.py and pipeline/placement/stages/place_graphs.py."""
    graph, placed = (instances(name)[0] for name in ("unseen_real", "placement_unseen"))
    assert graph.rng(3, "pcie").random() == np.random.default_rng([3, *bytes.fromhex(graph.graph_id)]).random()
    by_link = np.random.default_rng([3, *b"pcie", *bytes.fromhex(placed.graph_id)])
    assert placed.rng(3, "pcie").random() == by_link.random()
