"""Stages of executed graphs: they read and write tables, and write nothing after an error."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.run.executable import problem
from pipeline.execution.stages import simulate_executed, time_graph_schedules
from pipeline.execution.tables import EXECUTED_POINTS, GRAPH_TIMINGS, MACHINE_RATES, SIMULATED_TIMINGS
from pipeline.graph_sets.stages import coarsen_graphs
from pipeline.lab import places, tables
from pipeline.lab.graph_table import read_graphs, write_graphs
from pipeline.lab.shared_tables import GRAPH_SCHEDULES, RESULTS
from pipeline.lab.stages import evaluate_graphs
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


WHOSE = [("list_scheduling", 0), ("random_valid", 0), ("random_valid", 1)]  # methods and seeds


@dataclass(frozen=True)
class Timed:
    """Schedules of WHOSE, and their timings in two processes, with their folder."""

    folder: Path
    graphs: Path
    schedules: list[Path]

    def path(self, kind: str) -> Path:
        return self.folder / places.path(kind, experiment="e", graph_set="s")


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Timed:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("schedules are executed on two cores")
    folder = tmp_path_factory.mktemp("timed")
    graphs = folder / places.path("graphs", graph_set="s")
    write_graphs(graphs, list(read_graphs(executable(folder))))
    paths = [scheduled(folder, graphs, *run) for run in WHOSE]
    timed_graphs = Timed(folder, graphs, paths)
    time_graph_schedules.main(
        EXECUTION, graphs, paths, timed_graphs.path("graph_timings"), timed_graphs.path("machine_rates")
    )
    return timed_graphs


def test_from_graphs_to_timings(timed: Timed) -> None:
    table = tables.read(GRAPH_TIMINGS, timed.path("graph_timings"))
    assert len(table) == 2 * 3 * 2 * 2, "graphs, methods and seeds, schedules, processes"
    assert set(table["schedule"]) == {0, 1} and set(table["process"]) == {0, 1}
    assert set(zip(table["method"], table["seed"], strict=True)) == set(WHOSE)
    keys = ["graph_id", "method", "seed", "schedule", "process", "repeat"]
    assert not table.duplicated(keys).any()
    fastest = 1e12  # no core multiplies so fast
    least = {graph.graph_id: graph.flops.sum() / fastest for graph in read_graphs(timed.graphs)}
    assert (table["seconds"] > table["graph_id"].map(least)).all()
    measured = tables.read(MACHINE_RATES, timed.path("machine_rates"))
    assert measured["process"].tolist() == [0, 1] and (measured["flops_per_second"] > 1e8).all()


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


def test_from_timings_to_numbers(timed: Timed) -> None:
    tmp_path, graphs, paths = timed.folder, timed.graphs, timed.schedules
    timings, rates, costs = (timed.path(kind) for kind in ("graph_timings", "machine_rates", "simulated_timings"))
    targets = ["proxy", "noisy", "bandwidth", "latency"]
    machines = json.dumps({"device": None, "devices": 2, "links": {}, "targets": targets})
    simulate_executed.main(EXECUTION, machines, graphs, paths, FROZEN / "graph_targets.csv", costs)
    simulated = tables.read(SIMULATED_TIMINGS, costs)
    assert len(simulated) == 2 * 3 * 2 * len(targets), "graphs, methods and seeds, schedules, targets"
    for graph in read_graphs(graphs):
        orders, placements = drawn.schedules(problem(graph), np.random.default_rng(0), 3)
        of_graph = simulated.query("graph_id == @graph.graph_id and method == 'list_scheduling'")
        on_proxy = of_graph[of_graph["target"] == "proxy"].sort_values("schedule")["seconds"]
        assert on_proxy.tolist() == makespans(problem(graph), orders, placements)[:2].tolist()
    outputs = [tmp_path / places.path(kind, experiment="e") for kind in ("results", "parts", "executed_points")]
    intervals = json.dumps({"bootstrap_samples": 100, "confidence": 0.95})
    read = [graphs, timings, rates, costs]
    evaluate_graphs.main("e", "execution", intervals, "{}", read, *outputs[:2], further=outputs[2:])
    table = tables.read(RESULTS, outputs[0])
    assert set(table.query("metric == 'rank_correlation'")["target"]) == {*targets, "this_machine"}
    listed = table.query("metric == 'makespan' and method == 'list_scheduling' and baseline == 'list_scheduling'")
    assert listed["value"].item() == pytest.approx(1.0)
    assert set(tables.read(EXECUTED_POINTS, outputs[2])["target"]) == set(targets)
