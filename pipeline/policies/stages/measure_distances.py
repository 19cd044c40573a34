"""Distances between the kept schedules of every method, by their start times."""

from __future__ import annotations

import sys

from tqdm import tqdm

from learned_schedulers.graphs.devices.distances import start_distances
from learned_schedulers.graphs.devices.settings import GraphTarget, Machines
from learned_schedulers.graphs.read.roofline import problem_of
from learned_schedulers.section import section
from pipeline.lab import places, tables
from pipeline.lab.graph_table import kept_schedules, read_graphs
from pipeline.lab.shared_tables import GRAPH_SCHEDULES
from pipeline.lab.stages import options
from pipeline.policies.tables import SCHEDULE_DISTANCES


def main(
    machines: options.Machines,
    graphs: options.Table,
    graph_schedules: options.Tables,
    distances: options.Out,
) -> None:
    """Write a row for every graph, method, seed and rule of keeping, of methods that see the proxy.

    Raises ValueError for schedules of a graph that is not in table graphs.
    """
    where = section(Machines, machines)
    problems = {
        graph.graph_id: problem_of(graph, where.devices, where.device, where.memory_bytes)
        for graph in read_graphs(graphs)
    }
    rows = []
    for path in tqdm(sorted(graph_schedules), "distances", unit="table", file=sys.stderr):
        place = places.place(path, "graph_schedules")
        table = tables.read(GRAPH_SCHEDULES, path)
        if strange := sorted(set(table["graph_id"]) - set(problems)):
            raise ValueError(f"{path} has schedules of graph {strange[0]}, which is not in {graphs}: of another set?")
        for scheduled in table[table["sees"] == GraphTarget.PROXY].to_dict("records"):
            problem = problems[str(scheduled["graph_id"])]
            start_distance, placed_start_distance = start_distances(problem, *kept_schedules(scheduled))
            rows.append(
                {
                    "graph_id": scheduled["graph_id"],
                    "method": place["method"],
                    "seed": int(place["seed"]),
                    "kept_by": scheduled["kept_by"],
                    "start_distance": start_distance,
                    "placed_start_distance": placed_start_distance,
                }
            )
    tables.write_rows(rows, SCHEDULE_DISTANCES, distances)
