"""Stages of computation graphs on three small graphs; a schedule below its bound is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.devices.judging import FROZEN
from pipeline.graph_sets.stages import graph_sets
from pipeline.graph_sets.tables import GRAPH_CANDIDATES, GRAPHS
from pipeline.lab import tables
from pipeline.lab.places import path
from pipeline.lab.shared_tables import GRAPH_SCHEDULES, MAKESPANS
from pipeline.lab.stages import judge_graphs, schedule_graphs

pytestmark = pytest.mark.slow

DEVICE = {"flops_per_second": 1e13, "bytes_per_second": 9e11, "launch_seconds": 5e-6, "memory_bytes": 1e10}
SOURCES = [
    {
        "kind": "exported",
        "families": ["inception"],
        "variants": ["forward"],
        "operations": [25, 30],
        "parts": 1,
        "seed": 1,
    },
    {"kind": "synthetic", "families": ["layered"], "graphs": 1, "operations": 12, "seed": 1},
]
TARGETS = ["proxy", "noisy", "bandwidth", "latency"]
MACHINES = json.dumps({"device": DEVICE, "devices": 3, "links": {}, "targets": TARGETS})
METHODS: dict[str, dict[str, Any]] = {
    "list_scheduling": {},
    "randomised_list": {},
    "heft": {},
    "cp_sat": {"seconds": 0.05},
}
STRENGTHS = FROZEN / "graph_targets.csv"


def place(folder: Path, kind: str, **names: object) -> Path:
    return folder / path(kind, **names)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all tables up to the makespans."""
    root = tmp_path_factory.mktemp("graphs")
    sources = [SOURCES[0] | {"whole": False}, SOURCES[1]]
    graphs, looked_at = (place(root, kind, graph_set="s") for kind in ("graphs", "graph_candidates"))
    settings = json.dumps({"device": "d", "devices": 3, "sources": sources})
    graph_sets.main("s", settings, graphs, looked_at, json.dumps(DEVICE))
    schedules = []
    for method, settings_of in METHODS.items():
        schedules.append(place(root, "graph_schedules", experiment="devices", graph_set="s", method=method, seed=0))
        entry = json.dumps({"method": method, **settings_of})
        schedule_graphs.main(entry, MACHINES, 0, graphs, STRENGTHS, schedules[-1])
    judge_graphs.main(
        MACHINES, graphs, schedules, STRENGTHS, place(root, "makespans", experiment="devices", graph_set="s")
    )
    return root


def makespans(folder: Path) -> pd.DataFrame:
    return tables.read(MAKESPANS, place(folder, "makespans", experiment="devices", graph_set="s"))


def test_a_set_holds_what_counts_and_says_what_does_not(folder: Path) -> None:
    looked_at = tables.read(GRAPH_CANDIDATES, place(folder, "graph_candidates", graph_set="s"))
    graphs = tables.read(GRAPHS, place(folder, "graphs", graph_set="s"))
    assert graphs["graph_id"].tolist() == looked_at.loc[looked_at["counts"], "graph_id"].tolist()
    assert (looked_at["counts"] == (looked_at["refused"] == "")).all() and (looked_at["headroom"] >= 1).all()
    assert (looked_at.loc[looked_at["counts"], "headroom"] >= 1.5).all()
    assert {"layered", "inception"} == set(graphs["family"])


def test_every_graph_has_a_row_for_every_target_method_and_rule(folder: Path) -> None:
    judged = makespans(folder)
    graphs = tables.read(GRAPHS, place(folder, "graphs", graph_set="s"))
    assert len(judged) == len(graphs) * len(TARGETS) * len(METHODS) * 2
    assert not judged.duplicated(["graph_id", "target", "method", "kept_by"]).any()
    best = judged.assign(best=judged["seconds"].map(min))
    assert (best["best"] >= best["bound"] * (1 - 1e-9)).all()
    wide = best.pivot_table(index=["graph_id", "kept_by"], columns=["target", "method"], values="best")
    assert (wide["proxy"]["randomised_list"] <= wide["proxy"]["list_scheduling"]).all()
    assert (wide["bandwidth"]["list_scheduling"] >= wide["proxy"]["list_scheduling"]).all()


def test_what_was_random_depends_on_seed_and_graph_alone(folder: Path, tmp_path: Path) -> None:
    where = place(folder, "graph_schedules", experiment="devices", graph_set="s", method="randomised_list", seed=0)
    graphs = tables.read(GRAPHS, place(folder, "graphs", graph_set="s"))
    tables.write(graphs[-1:], GRAPHS, tmp_path / "one.parquet")
    entry = json.dumps({"method": "randomised_list"})
    schedule_graphs.main(entry, MACHINES, 0, tmp_path / "one.parquet", STRENGTHS, tmp_path / "again.parquet")
    again, before = (tables.read(GRAPH_SCHEDULES, file) for file in (tmp_path / "again.parquet", where))
    pd.testing.assert_frame_equal(again, before[before["graph_id"] == again["graph_id"][0]].reset_index(drop=True))
    schedule_graphs.main(entry, MACHINES, 1, tmp_path / "one.parquet", STRENGTHS, tmp_path / "other.parquet")
    reseeded = tables.read(GRAPH_SCHEDULES, tmp_path / "other.parquet")
    assert not np.array_equal(reseeded["orders"][0], again["orders"][0])


def test_a_schedule_below_the_bound_of_its_target_ends_the_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = place(folder, "graph_schedules", experiment="devices", graph_set="s", method="list_scheduling", seed=0)
    right = judge_graphs.Target.seconds
    monkeypatch.setattr(judge_graphs.Target, "seconds", lambda *arguments: right(*arguments) / 4)
    with pytest.raises(
        ValueError, match=r"list_scheduling with seed 0, on .*: a schedule takes .* none can take less than"
    ):
        graphs = place(folder, "graphs", graph_set="s")
        judge_graphs.main(MACHINES, graphs, [where], STRENGTHS, tmp_path / "makespans.parquet")
    assert not (tmp_path / "makespans.parquet").exists()


def test_a_set_without_a_graph_is_refused(tmp_path: Path) -> None:
    chain = {"kind": "exported", "families": ["vgg"], "parts": 0}
    with pytest.raises(ValueError, match=r"graph_sets\.s: none of 1 graphs counts"):
        graph_sets.main(
            "s", json.dumps({"device": "d", "sources": [chain]}), tmp_path / "g", tmp_path / "c", json.dumps(DEVICE)
        )
    assert not list(tmp_path.iterdir())
