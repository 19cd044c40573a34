"""Which schedules are executed: the best by proxy of every method and seed, and of those that are alike one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline import tables
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.execution.programs import chains
from pipeline.places import place

_BEST, _PROXY = "best", "proxy"


@dataclass(frozen=True)
class Scheduled:
    """The schedules of one graph, (S, n) each, and the rows of `graph_timings` that each one stands for."""

    graph: Graph
    orders: np.ndarray
    placements: np.ndarray
    rows: list[list[dict[Hashable, Any]]]  # S: graph_id, method, seed, schedule; several where methods agree


def collect(graphs: Mapping[str, Graph], schedules: pd.DataFrame) -> list[Scheduled]:
    """What is to be executed, graph by graph; of schedules with the same two programs, one.

    schedules: columns graph_id, method, seed, schedule (its number), order, placement.
    Raises ValueError naming a graph that is missing.
    """
    found = []
    for graph_id, of_graph in schedules.groupby("graph_id", sort=True):
        if graph_id not in graphs:
            raise ValueError(f"schedules of graph {graph_id} are to be executed, and the graph is in no table given")
        distinct: dict[tuple[bytes, bytes], list[int]] = {}
        orders = [np.asarray(order, np.int32) for order in of_graph["order"]]
        placements = [np.asarray(placement, np.int32) for placement in of_graph["placement"]]
        for number, (order, placement) in enumerate(zip(orders, placements, strict=True)):
            distinct.setdefault(chains(order, placement), []).append(number)
        names = of_graph[["graph_id", "method", "seed", "schedule"]].to_dict("records")
        first = [numbers[0] for numbers in distinct.values()]
        found.append(
            Scheduled(
                graphs[str(graph_id)],
                np.stack([orders[i] for i in first]),
                np.stack([placements[i] for i in first]),
                [[names[i] for i in numbers] for numbers in distinct.values()],
            )
        )
    return found


def best_schedules(paths: Sequence[Path], count: int) -> pd.DataFrame:
    """Of each graph the best `count` schedules of every table `graph_schedules`: what `collect` takes.

    Of a method that was told several targets, those that it made for the proxy; one that was told a single link has
    no others. Raises ValueError where there are none.
    """
    found = [schedules for path in sorted(paths) for schedules in _of_table(path, count)]
    if not found:
        raise ValueError(f"{', '.join(map(str, paths))}: no method has a schedule for the proxy, or for a single link")
    return pd.concat(found)


def _of_table(path: Path, count: int) -> Iterator[pd.DataFrame]:
    said, table = place(path, "graph_schedules"), tables.read("graph_schedules", path)
    told = set(table["sees"])
    executed = told.pop() if len(told) == 1 else _PROXY
    for row in table.to_dict("records"):
        if row["sees"] != executed or row["kept_by"] != _BEST or len(row["seen_seconds"]) == 0:
            continue
        shape = (len(row["seen_seconds"]), int(row["operations"]))
        orders, placements = (np.asarray(row[name], np.int32).reshape(shape) for name in ("orders", "placements"))
        yield pd.DataFrame(
            {
                "graph_id": row["graph_id"],
                "method": said["method"],
                "seed": int(said["seed"]),
                "schedule": range(min(count, shape[0])),
                "order": list(orders[:count]),
                "placement": list(placements[:count]),
            }
        )
