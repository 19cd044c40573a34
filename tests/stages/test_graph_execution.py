"""Stages of executed graphs: they read and write tables, and write nothing after an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.run.executable import problem
from pipeline.execution.stages import time_graph_schedules
from pipeline.graph_sets.stages import coarsen_graphs
from pipeline.lab import places, tables
from pipeline.lab.graph_table import read_graphs, write_graphs
from pipeline.lab.shared_tables import GRAPH_SCHEDULES
from tests.graphs.problems import drawn
from tests.graphs.read.drawn import shuffled
from tests.graphs.run.made import COARSENING

pytestmark = pytest.mark.slow

EXECUTION = json.dumps({"schedules": 2, "processes": 2, "repeats": 1})


@pytest.fixture
def executed(tmp_path: Path) -> Path:
    return executable(tmp_path)


def executable(folder: Path) -> Path:
    """Two graphs in their executed form."""
    originals = [shuffled(30, 20, np.random.default_rng(seed))[0] for seed in (0, 1)]
    write_graphs(folder / "graphs.parquet", originals)
    out = folder / "executed.parquet"
    coarsen_graphs.main(COARSENING.model_dump_json(), folder / "graphs.parquet", out)
    return out


def scheduled(folder: Path, graphs: Path, method: str, seed: int) -> Path:
    """Three schedules of each graph that see the proxy, and some that are not executed."""
    rows = []
    for graph in read_graphs(graphs):
        orders, placements = drawn.schedules(problem(graph), np.random.default_rng(seed), 3)
        row = {
            "graph_id": graph.graph_id, "status": "ok", "message": "", "operations": len(graph), "bound": np.nan,
            "orders": orders.ravel(), "placements": placements.ravel(), "seen_seconds": np.ones(3),
            "evaluations": [], "best_seconds": [],
        }  # fmt: skip
        nothing = {"orders": [], "placements": [], "seen_seconds": [], "status": "unsupported"}
        rows += [row | {"sees": "proxy", "kept_by": rule} for rule in ("best", "spread")]
        rows += [row | {"sees": "latency", "kept_by": "best"}, row | nothing | {"sees": "proxy", "kept_by": "best"}]
    path = folder / places.path("graph_schedules", experiment="e", graph_set="s", method=method, seed=seed)
    tables.write(pd.DataFrame(rows), GRAPH_SCHEDULES, path)
    return path


def test_nothing_to_execute(tmp_path: Path, executed: Path) -> None:
    path = scheduled(tmp_path, executed, "list", 0)
    table = tables.read(GRAPH_SCHEDULES, path)
    tables.write(table[table["kept_by"] != "best"], GRAPH_SCHEDULES, path)
    with pytest.raises(ValueError, match="no method has a schedule for the proxy"):
        time_graph_schedules.main(EXECUTION, executed, [path], tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_one_core_only(tmp_path: Path, executed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with pytest.raises(ValueError, match="executed on two cores, and this process may use 1"):
        time_graph_schedules.main(
            EXECUTION, executed, [scheduled(tmp_path, executed, "list", 0)], tmp_path / "a", tmp_path / "b"
        )
    assert not (tmp_path / "a").exists()


def test_a_chain_has_nothing_to_win(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = shuffled(2, 4, np.random.default_rng(0))[0]
    write_graphs(tmp_path / "graphs.parquet", [chain])
    with pytest.raises(ValueError, match=r"graphs\.parquet: two devices can win nothing in any graph"):
        coarsen_graphs.main(COARSENING.model_dump_json(), tmp_path / "graphs.parquet", tmp_path / "out.parquet")
    assert "2 operations are" in capsys.readouterr().err and not (tmp_path / "out.parquet").exists()
