"""From tables of graphs to a method's schedules: examples, training, proposals."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import tables
from pipeline.config.graph_methods import graph_entry
from pipeline.graphs.corpus import synthetic
from pipeline.graphs.corpus.graph_table import read_graphs, write_graphs
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import OK, Budget, make
from pipeline.graphs.schedulers.rules.settling import by_tails, makespan
from pipeline.stages import job_examples, train_slot_network
from tests.graphs.models.small_jobs import SETTINGS

EXAMPLES = '{"most_operations": 12, "seconds": 0.02}'


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    drawn = [synthetic.draw("layered", n, rng, f"layered_{k}") for k, n in enumerate([8, 12, 8, 12, 13, 0])]
    write_graphs(tmp_path / "graphs.parquet", drawn)
    return tmp_path / "graphs.parquet"


def examples(graphs: Path, out: Path, device: str = "null") -> pd.DataFrame:
    job_examples.main(EXAMPLES, device, 3, graphs, out)
    return tables.read("job_examples", out)


def test_best_orders_are_no_worse_than_list_scheduling_nor_better_than_the_bound(
    graphs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = examples(graphs, tmp_path / "examples.parquet")
    assert "4 graphs, 2 left out" in capsys.readouterr().err
    members = {graph.graph_id: graph for graph in read_graphs(graphs)}
    assert set(rows["graph_id"]) <= set(members) and set(rows["seconds"].map(len)) == {8, 12}
    for row in rows.to_dict("records"):
        graph = members[row["graph_id"]]
        problem = Problem(graph.seconds, np.ones(len(graph)), graph.children, 3)
        assert row["makespan"] == makespan(problem, row["order"]) <= row["listed"] * (1 + 1e-9)
        assert row["listed"] == makespan(problem, by_tails(problem))
        assert row["makespan"] >= row["bound"] * (1 - 1e-9)


def test_the_same_seed_gives_the_same_examples(graphs: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}.parquet" for k in range(2)]
    for path in paths:
        examples(graphs, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_graphs_without_run_times_are_refused(graphs: Path, tmp_path: Path) -> None:
    untimed = [replace(graph, seconds=np.zeros(0)) for graph in read_graphs(graphs)]
    write_graphs(tmp_path / "untimed.parquet", untimed)
    with pytest.raises(ValueError, match="graph layered_0: it has no run times"):
        examples(tmp_path / "untimed.parquet", tmp_path / "examples.parquet")
    assert not (tmp_path / "examples.parquet").exists()
    device = '{"flops_per_second": 1e12, "bytes_per_second": 1e11, "launch_seconds": 1e-6, "memory_bytes": 1e9}'
    rows = examples(tmp_path / "untimed.parquet", tmp_path / "examples.parquet", device)
    assert (rows["makespan"] >= rows["bound"] * (1 - 1e-9)).all() and (rows["bound"] >= 1e-6).all()


def test_a_trained_network_schedules_unseen_graphs(graphs: Path, tmp_path: Path) -> None:
    path, weights, history = (tmp_path / name for name in ("examples.parquet", "slots.safetensors", "history.parquet"))
    examples(graphs, path)
    train_slot_network.main(SETTINGS.model_dump_json(), 0, [path], path, weights, history)
    assert tables.read("history", history)["step"].max() == SETTINGS.steps
    graph = synthetic.draw("erdos_renyi", 30, np.random.default_rng(1))
    problem = Problem(graph.seconds, np.ones(30), graph.children, 3)
    method = make(graph_entry("projected_slots"), {"weights": weights})
    proposals = method.propose(problem, np.random.default_rng(0), Budget(20))
    assert proposals.status == OK and len(proposals.orders) == 20
    assert makespans(problem, proposals.orders, proposals.placements).min() >= problem.bound * (1 - 1e-9)


def test_a_graph_that_is_too_large_to_learn_is_named(graphs: Path, tmp_path: Path) -> None:
    path = tmp_path / "examples.parquet"
    examples(graphs, path)
    settings = SETTINGS.model_copy(update={"most_operations": 8}).model_dump_json()
    with pytest.raises(ValueError, match=re.escape(f"{path}: graph layered_1 has 12 operations; 1 to 8 can be")):
        train_slot_network.main(settings, 0, [path], path, tmp_path / "w.safetensors", tmp_path / "h.parquet")
