"""Simulate every placed schedule of a set anew: its makespan, and whether it fits the memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.limits import memory_limit
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.lab import tables
from pipeline.lab.graph_table import read_graphs
from pipeline.lab.shared_tables import PLACEMENTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather
from pipeline.placement.tables import PLACEMENT_COSTS


def main(
    machines: options.Machines,
    graphs: options.Table,
    placements: options.Tables,
    placement_costs: options.Out,
) -> None:
    """Write a row for each graph, link, method and seed. A schedule that does not fit the memory is an error."""
    where = section(Machines, machines)
    placed = gather(PLACEMENTS, placements)
    rows = []
    for graph in tqdm(read_graphs(graphs), "graphs", unit="graph", file=sys.stderr):
        problem = problem_of(graph, where.devices, where.device, np.inf)
        problem = replace(problem, memory=memory_limit(problem))
        of_graph = placed[placed["graph_id"] == graph.graph_id]
        for link, of_link in of_graph.groupby("link", sort=True):
            linked = targets.linked(problem, where.links[str(link)]).mean
            rows += [_of_graph(graph, linked) | _row(linked, placement) for placement in of_link.to_dict("records")]
    tables.write_rows(rows, PLACEMENT_COSTS, placement_costs)


def _of_graph(graph: Graph, problem: Problem) -> dict[str, object]:
    """Columns that all schedules of a graph share."""
    n = len(problem)
    alone = evaluated(problem, np.arange(n, dtype=np.int32)[None], np.zeros((1, n), np.int32))
    return {
        "graph_id": graph.graph_id,
        "graph": f"{graph.name} {graph.variant}",
        "family": graph.family,
        "operations": n,
        "alone": float(alone.seconds[0]),
        "fits_alone": bool(alone.fits[0]),
        "bound": problem.bound,
    }


def _row(problem: Problem, placed: Mapping[Any, Any]) -> dict[str, object]:
    """A method's schedule, simulated."""
    seconds, share = np.nan, np.nan
    if len(placed["order"]):
        judged = evaluated(problem, placed["order"][None], placed["placement"][None].astype(np.int32))
        if not judged.fits[0]:
            raise ValueError(
                f"{placed['method']}, seed {placed['seed']}, graph {placed['graph_id']}, {placed['link']}: "
                f"the schedule exceeds the memory by {judged.excess[0]:.1%}; this is an error of that method"
            )
        seconds, share = float(judged.seconds[0]), float((judged.peaks[0] / problem.memory).max())
    names = ("link", "method", "seed", "status", "message", "evaluations", "best_seconds")
    return {name: placed[name] for name in names} | {"seconds": seconds, "memory_share": share}
