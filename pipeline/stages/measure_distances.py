"""How far apart the kept schedules of every method are by their start times."""

from __future__ import annotations

import sys
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from tqdm import tqdm

from pipeline import places, tables
from pipeline.config.devices import Machines
from pipeline.config.experiments import GraphTarget
from pipeline.config.section import section
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.roofline import problem_of
from pipeline.graphs.devices.distances import start_distances
from pipeline.stages import options

_LISTS = ("orders", "placements")


def main(
    machines: Annotated[str, typer.Option(help="JSON: device, number of devices, links, targets.")],
    graphs: options.Table,
    graph_schedules: options.Tables,
    distances: options.Out,
) -> None:
    """Write a row for every graph, method, seed and rule of keeping, of methods that see the proxy.

    Raises ValueError for schedules of a graph that is not among the graphs.
    """
    where = section(Machines, machines)
    problems = {
        graph.graph_id: problem_of(graph, where.devices, where.device, where.memory_bytes)
        for graph in read_graphs(graphs)
    }
    rows = []
    for path in tqdm(sorted(graph_schedules), "distances", unit="table", file=sys.stderr):
        said = places.place(path, "graph_schedules")
        table = tables.read("graph_schedules", path)
        if strange := sorted(set(table["graph_id"]) - set(problems)):
            raise ValueError(f"{path} has schedules of graph {strange[0]}, which is not in {graphs}: of another set?")
        for scheduled in table[table["sees"] == GraphTarget.PROXY].to_dict("records"):
            shape = (len(scheduled["seen_seconds"]), int(scheduled["operations"]))
            schedules = (np.asarray(scheduled[name]).astype(np.int32).reshape(shape) for name in _LISTS)
            when, placed = start_distances(problems[str(scheduled["graph_id"])], *schedules)
            whose = {"graph_id": scheduled["graph_id"], "method": said["method"], "seed": int(said["seed"])}
            numbers = {"start_distance": when, "placed_start_distance": placed}
            rows.append(whose | {"kept_by": scheduled["kept_by"]} | numbers)
    names = tables.SCHEMAS["schedule_distances"].names
    tables.write(pd.DataFrame(rows, columns=names), "schedule_distances", distances)
