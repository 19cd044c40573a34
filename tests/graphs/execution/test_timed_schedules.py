"""From tables of schedules to tables of timings: which are executed, how often, and whose rows they become."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from pipeline import tables
from pipeline.config.execution import ExecutionSettings
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.execution.executable import problem
from pipeline.graphs.execution.timed_schedules import collect, execute, runs
from tests.graphs.execution.made import tiny
from tests.graphs.problems import drawn


def schedules(graph: Graph, count: int, method: str, seed: int = 0) -> pd.DataFrame:
    orders, placements = drawn.schedules(problem(graph), np.random.default_rng(seed), count)
    names = {"graph_id": graph.graph_id, "method": method, "seed": 0, "schedule": range(count)}
    return pd.DataFrame({**names, "order": list(orders), "placement": list(placements)})


def test_schedules_that_are_alike_are_executed_once() -> None:
    graph = tiny()
    listed = schedules(graph, 3, "list")
    same = listed[listed["schedule"] == 1].assign(method="heft", schedule=0)
    (found,) = collect({graph.graph_id: graph}, pd.concat([listed, same]))
    assert found.orders.shape == found.placements.shape == (3, len(graph))
    assert [[row["method"] for row in rows] for rows in found.rows] == [["list"], ["list", "heft"], ["list"]]


def test_a_graph_that_is_missing_is_named() -> None:
    graph = tiny()
    with pytest.raises(ValueError, match=f"graph {graph.graph_id} .* in no table given"):
        collect({}, schedules(graph, 1, "list"))


def test_every_repeat_runs_every_schedule_once() -> None:
    sequence = runs(5, 4, np.random.default_rng(0))
    rounds = sequence[-20:].reshape(4, 5)
    assert (np.sort(rounds, 1) == np.arange(5)).all() and len({tuple(row) for row in rounds.tolist()}) > 1
    assert runs(5, 4, np.random.default_rng(0)).tolist() == sequence.tolist()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="schedules are executed on two cores")
def test_tables_of_two_graphs_and_two_processes(tmp_path: os.PathLike[str]) -> None:
    graphs = [tiny(0), tiny(1)]
    listed = pd.concat([schedules(graph, 3, "list") for graph in graphs])
    settings = ExecutionSettings(processes=2, repeats=2)
    timings, rates = execute(collect({graph.graph_id: graph for graph in graphs}, listed), settings)
    keys = ["graph_id", "method", "seed", "schedule", "process", "repeat"]
    assert len(timings) == 2 * 3 * 2 * 2 and not timings.duplicated(keys).any()
    assert set(timings["process"]) == set(timings["repeat"]) == {0, 1} == set(rates["process"])
    least = {graph.graph_id: graph.flops.sum() / 1e12 for graph in graphs}  # no core multiplies so fast
    assert (timings["seconds"] > timings["graph_id"].map(least)).all()
    assert (rates["flops_per_second"] > 1e8).all() and (rates["median_relative_error"] < 2).all()
    assert set(timings.columns) == set(tables.SCHEMAS["graph_timings"].names)
    assert set(rates.columns) == set(tables.SCHEMAS["machine_rates"].names) - {"measured_at"}
