"""Placed schedules of one graph, which the page draws: device and times of each operation, memory of the devices."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.settings import Machines
from learned_schedulers.graphs.devices.simulator import starts
from learned_schedulers.graphs.devices.timeline import usage
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.lab import places, tables
from pipeline.lab.graph_table import graph_named
from pipeline.lab.shared_tables import MEMORY_CURVES, PLACEMENTS
from pipeline.lab.stages import options
from pipeline.placement.settings import ShownPlacement
from pipeline.placement.tables import PLACED_OPERATIONS

Rows = list[dict[str, object]]


def main(
    settings: Annotated[str, typer.Option(help="JSON: set, graph, link, methods, from left to right.")],
    machines: options.Machines,
    graphs: options.Table,
    placements: options.Tables,
    placed_operations: options.Out,
    memory_curves: options.Out,
) -> None:
    """Write the schedules of this graph by the methods that have one; at least one must."""
    chosen, where = section(ShownPlacement, settings), section(Machines, machines)
    graph = graph_named(graphs, chosen.graph)
    problem = limited(problem_of(graph, where.devices, where.device, np.inf))
    problem = targets.linked(problem, where.links[chosen.link]).mean
    of_method = {places.place(path, "placements")["method"]: path for path in placements}
    operations: Rows = []
    changes: Rows = []
    for place, method in enumerate(chosen.methods):
        table = tables.read(PLACEMENTS, of_method[method])
        row = table[(table["graph_id"] == graph.graph_id) & (table["link"] == chosen.link)].iloc[0]
        if not len(row["order"]):
            continue
        drawn = {"rank": 0, "graph": chosen.graph, "method": method, "place": place}
        placed, held_bytes = _drawn(graph, problem, row["order"], row["placement"].astype(np.int32))
        operations += [drawn | {"link": chosen.link} | operation for operation in placed]
        changes += [drawn | change for change in held_bytes]
    if not operations:
        raise ValueError(f"none of {', '.join(chosen.methods)} places {chosen.graph}; change shown.methods")
    tables.write_rows(operations, PLACED_OPERATIONS, placed_operations)
    tables.write_rows(changes, MEMORY_CURVES, memory_curves)


def depths(problem: Problem) -> np.ndarray:
    """(n,) edges on the longest path to each operation."""
    depth = np.zeros(len(problem), np.int64)
    for i in range(len(problem)):  # parents have lower numbers
        parents = problem.parents.targets[problem.parents.offsets[i] : problem.parents.offsets[i + 1]]
        depth[i] = depth[parents].max(initial=-1) + 1
    return depth


def _drawn(graph: Graph, problem: Problem, order: np.ndarray, placement: np.ndarray) -> tuple[Rows, Rows]:
    """Rows of placed_operations, one for each operation, and of memory_curves."""
    begins, depth = starts(problem, order, placement), depths(problem)
    row = pd.Series(depth).groupby(depth).cumcount()
    operations: Rows = [
        {
            "operation": i,
            "kind": graph.kinds[i],
            "depth": depth[i],
            "row": row[i],
            "device": placement[i],
            "begin": begins[i],
            "end": begins[i] + seconds,
            "bound": problem.bound,
        }
        for i, seconds in enumerate(problem.seconds.tolist())
    ]
    changes: Rows = [
        {"device": device, "seconds": second, "bytes": size}
        for device, (seconds, sizes) in enumerate(usage(problem, order, placement))
        for second, size in zip(seconds.tolist(), sizes.tolist(), strict=True)
    ]
    return operations, changes
