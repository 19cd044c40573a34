"""Simulate every placed schedule of a set anew: its makespan, and whether it fits the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.lab.graph_table import write_for_each
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

    def rows_of(graph: Graph) -> Iterator[dict[str, object]]:
        problem = limited(problem_of(graph, where.devices, where.device, np.inf))
        of_graph = placed[placed["graph_id"] == graph.graph_id]
        for link, of_link in of_graph.groupby("link", sort=True):
            linked = targets.linked(problem, where.links[str(link)]).mean
            shared = _of_graph(graph, linked)
            yield from (shared | _row(linked, placement) for placement in of_link.to_dict("records"))

    write_for_each(graphs, rows_of, PLACEMENT_COSTS, placement_costs)


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
