"""Best known orders of small computation graphs, for a network to learn."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pipeline import tables
from pipeline.config.devices import Device
from pipeline.config.graph_methods import graph_entry
from pipeline.config.section import section
from pipeline.config.slot_network import JobExamples
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Problem
from pipeline.graphs.schedulers import Budget, Method, make
from pipeline.graphs.schedulers.rules.settling import by_tails, makespan, settled
from pipeline.stages import options

_ROUNDING = 1e-9  # of a makespan
_LISTS = 1000  # randomised lists of a graph


def main(
    settings: options.Settings,
    device: options.SetDevice,
    devices: options.Devices,
    graphs: options.Table,
    job_examples: options.Out,
) -> None:
    """Find the best known order of each graph, by CP-SAT or by the best of many randomised lists.

    CP-SAT alone, with little time, is worse than the lists on average. Among equally good orders the stage takes the
    nearest to list scheduling. It leaves out a graph with too many operations. Raises ValueError for a graph without
    run times if there is no device.
    """
    chosen = section(JobExamples, settings)
    kind = None if device == "null" else section(Device, device)
    members = read_graphs(graphs)
    small = [graph for graph in members if 0 < len(graph) <= chosen.most_operations]
    problems = [(graph, problem_of(graph, devices, kind, np.inf)) for graph in small]
    solver = make(graph_entry("cp_sat", seconds=chosen.seconds, most_operations=chosen.most_operations))
    lists = make(graph_entry("randomised_list"))
    rows = [
        _solved(graph, problem, chosen.seconds, solver, lists)
        for graph, problem in tqdm(problems, "best orders", unit="graph", file=sys.stderr)
    ]
    frame = pd.DataFrame(rows, columns=tables.SCHEMAS["job_examples"].names)
    better = int((frame["makespan"] < frame["listed"] * (1 - _ROUNDING)).sum())
    print(
        f"{len(frame)} graphs, {len(members) - len(frame)} left out; better than list scheduling: {better}",
        file=sys.stderr,
    )
    tables.write(frame, "job_examples", job_examples)


def _solved(graph: Graph, problem: Problem, seconds: float, solver: Method, lists: Method) -> dict[str, Any]:
    rng = np.random.default_rng([*bytes.fromhex(graph.graph_id)])
    solution = solver.propose(problem, rng, Budget(1, 1, seconds))
    drawn = lists.propose(problem, rng, Budget(_LISTS))
    shortest = makespans(problem, drawn.orders, drawn.placements).argmin()
    order = settled(
        problem, min(solution.orders[0], drawn.orders[shortest], key=lambda candidate: makespan(problem, candidate))
    )
    return {
        "graph_id": graph.graph_id,
        "name": graph.name,
        "family": graph.family,
        "devices": problem.devices,
        "seconds": problem.seconds,
        "offsets": graph.children.offsets,
        "children": graph.children.targets,
        "order": order,
        "makespan": makespan(problem, order),
        "listed": makespan(problem, by_tails(problem)),
        "bound": float(solution.stats["bound"]),
    }
