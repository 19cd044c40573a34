"""The schedules that are executed, and the rows of their runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run.executable import problem
from pipeline.execution.chosen_schedules import collect
from tests.graphs.problems import drawn
from tests.graphs.run.made import tiny


def schedules(graph: Graph, count: int, method: str, seed: int = 0) -> pd.DataFrame:
    orders, placements = drawn.schedules(problem(graph), np.random.default_rng(seed), count)
    names = {"graph_id": graph.graph_id, "method": method, "seed": 0, "schedule": range(count)}
    return pd.DataFrame({**names, "order": list(orders), "placement": list(placements)})


def test_schedules_that_are_alike_are_executed_once() -> None:
    graph = tiny()
    listed = schedules(graph, 3, "list")
    same = listed[listed["schedule"] == 1].assign(method="heft", schedule=0)
    (scheduled,) = collect({graph.graph_id: graph}, pd.concat([listed, same]))
    assert scheduled.orders.shape == scheduled.placements.shape == (3, len(graph))
    assert [[row["method"] for row in rows] for rows in scheduled.rows] == [["list"], ["list", "heft"], ["list"]]


def test_a_graph_that_is_missing_is_named() -> None:
    graph = tiny()
    with pytest.raises(ValueError, match=f"no table has the graph {graph.graph_id}, "):
        collect({}, schedules(graph, 1, "list"))
