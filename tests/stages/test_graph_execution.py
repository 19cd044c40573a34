"""Stages of executed graphs write nothing after an error; what they write has tests in tests/graphs/run."""

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


def executable(folder: Path, kept_by: str) -> tuple[Path, Path]:
    """A graph in its executed form, and a schedule of it that was kept by a rule."""
    write_graphs(folder / "graphs.parquet", [shuffled(30, 20, np.random.default_rng(0))[0]])
    executed = folder / "executed.parquet"
    coarsen_graphs.main(COARSENING.model_dump_json(), folder / "graphs.parquet", executed)
    (graph,) = read_graphs(executed)
    orders, placements = drawn.schedules(problem(graph), np.random.default_rng(0), 1)
    row = {
        "graph_id": graph.graph_id, "status": "ok", "message": "", "operations": len(graph), "bound": np.nan,
        "orders": orders.ravel(), "placements": placements.ravel(), "seen_seconds": np.ones(1),
        "evaluations": [], "best_seconds": [], "sees": "proxy", "kept_by": kept_by,
    }  # fmt: skip
    path = folder / places.path("graph_schedules", experiment="e", graph_set="s", method="list", seed=0)
    tables.write(pd.DataFrame([row]), GRAPH_SCHEDULES, path)
    return executed, path


def test_nothing_to_execute(tmp_path: Path) -> None:
    executed, path = executable(tmp_path, "spread")
    with pytest.raises(ValueError, match="no method has a schedule for the proxy"):
        time_graph_schedules.main(EXECUTION, executed, [path], tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_one_core_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed, path = executable(tmp_path, "best")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with pytest.raises(ValueError, match="executed on two cores, and this process may use 1"):
        time_graph_schedules.main(EXECUTION, executed, [path], tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "a").exists()


def test_a_chain_has_nothing_to_win(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = shuffled(2, 4, np.random.default_rng(0))[0]
    write_graphs(tmp_path / "graphs.parquet", [chain])
    with pytest.raises(ValueError, match=r"graphs\.parquet: two devices can win nothing in any graph"):
        coarsen_graphs.main(COARSENING.model_dump_json(), tmp_path / "graphs.parquet", tmp_path / "out.parquet")
    assert "2 operations are" in capsys.readouterr().err and not (tmp_path / "out.parquet").exists()
