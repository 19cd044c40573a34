"""Every executed schedule has a simulated cost on every target."""

from __future__ import annotations

import numpy as np
import pandas as pd

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run.executable import problem
from pipeline.execution.chosen_schedules import collect
from pipeline.execution.stages.simulate_executed import simulate
from tests.graphs.run.made import tiny
from tests.graphs.run.test_chosen_schedules import schedules


def both(graph: Graph) -> dict[str, targets.Target]:
    return {"proxy": targets.proxy(problem(graph)), "latency": targets.latency(problem(graph), 1.0)}


def test_costs_are_those_of_the_simulator_under_every_name_of_a_schedule() -> None:
    graph = tiny()
    listed = schedules(graph, 3, "list")
    frame = pd.concat([listed, listed[listed["schedule"] == 1].assign(method="heft", schedule=0)])
    simulated = pd.DataFrame(simulate(collect({graph.graph_id: graph}, frame), both))
    assert len(simulated) == 4 * 2
    costs = simulated.set_index(["target", "method", "schedule"])["seconds"].sort_index()
    orders, placements = np.stack(listed["order"].tolist()), np.stack(listed["placement"].tolist())
    assert costs["proxy", "list"].tolist() == makespans(problem(graph), orders, placements).tolist()
    assert costs["latency", "heft", 0] == costs["latency", "list", 1] >= costs["proxy", "list", 1]
