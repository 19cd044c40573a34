"""The schedules to execute: the best ones by proxy of every method and seed; equal schedules are executed once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run.programs import chains
from pipeline.lab import tables
from pipeline.lab.graph_table import kept_schedules
from pipeline.lab.places import place
from pipeline.lab.shared_tables import GRAPH_SCHEDULES

_BEST, _PROXY = "best", "proxy"


@dataclass(frozen=True)
class Scheduled:
    """The distinct schedules of one graph, and the rows of `graph_timings` that each of them stands for."""

    graph: Graph
    orders: np.ndarray  # (S, n)
    placements: np.ndarray  # (S, n)
    rows: list[list[dict[Hashable, Any]]]  # S: graph_id, method, seed, schedule; several if methods agree


def collect(graphs: Mapping[str, Graph], schedules: pd.DataFrame) -> list[Scheduled]:
    """The schedules to execute, graph by graph; of schedules with the same two programs only one.

    schedules: columns graph_id, method, seed, schedule (a number), order, placement.
    Raises ValueError that names a missing graph.
    """
    scheduled = []
    for graph_id, of_graph in schedules.groupby("graph_id", sort=True):
        if graph_id not in graphs:
            raise ValueError(f"no table has the graph {graph_id}, whose schedules are to be executed; add its table")
        distinct: dict[tuple[bytes, bytes], list[int]] = {}
        orders = [np.asarray(order, np.int32) for order in of_graph["order"]]
        placements = [np.asarray(placement, np.int32) for placement in of_graph["placement"]]
        for number, (order, placement) in enumerate(zip(orders, placements, strict=True)):
            distinct.setdefault(chains(order, placement), []).append(number)
        names = of_graph[["graph_id", "method", "seed", "schedule"]].to_dict("records")
        first = [numbers[0] for numbers in distinct.values()]
        scheduled.append(
            Scheduled(
                graphs[str(graph_id)],
                np.stack([orders[i] for i in first]),
                np.stack([placements[i] for i in first]),
                [[names[i] for i in numbers] for numbers in distinct.values()],
            )
        )
    return scheduled


def best_schedules(paths: Sequence[Path], count: int) -> pd.DataFrame:
    """The best `count` schedules of each graph in every table `graph_schedules`, as `collect` expects them.

    They are those for the proxy. Raises ValueError if there are no such schedules.
    """
    frames = [frame for path in sorted(paths) for frame in _schedules_of_table(path, count)]
    if not frames:
        raise ValueError(f"{', '.join(map(str, paths))}: no method has a schedule for the proxy")
    return pd.concat(frames)


def _schedules_of_table(path: Path, count: int) -> Iterator[pd.DataFrame]:
    fields, table = place(path, "graph_schedules"), tables.read(GRAPH_SCHEDULES, path)
    for row in table.to_dict("records"):
        if row["sees"] != _PROXY or row["kept_by"] != _BEST or len(row["seen_seconds"]) == 0:
            continue
        orders, placements = kept_schedules(row)
        yield pd.DataFrame(
            {
                "graph_id": row["graph_id"],
                "method": fields["method"],
                "seed": int(fields["seed"]),
                "schedule": range(min(count, len(orders))),
                "order": list(orders[:count]),
                "placement": list(placements[:count]),
            }
        )
