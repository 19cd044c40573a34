"""Small computation graphs with the best known order of each, as table job_examples holds them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline import tables
from pipeline.graphs.problems.problem import Edges, Problem


class BestOrder(NamedTuple):
    """A graph of n operations without transfers, and its best known order."""

    graph_id: str
    family: str
    problem: Problem
    order: np.ndarray  # (n,) int64: the operation in each slot; list scheduling with these priorities
    makespan: float  # seconds of the list schedule of this order
    listed: float  # seconds of list scheduling by critical path


def read_best_orders(path: Path, most: int) -> list[BestOrder]:
    """The rows of a table.

    Raises TableError if the file is no such table, ValueError for a graph without operations or with more than `most`.
    """
    orders = []
    for row in tables.read("job_examples", path).to_dict("records"):
        seconds, order = np.asarray(row["seconds"], np.float64), np.asarray(row["order"], np.int64)
        if not 0 < len(seconds) <= most:
            raise ValueError(f"{path}: graph {row['name']} has {len(seconds)} operations; 1 to {most} can be learned")
        edges = Edges(np.asarray(row["offsets"], np.int32), np.asarray(row["children"], np.int32))
        problem = Problem(seconds, np.zeros(len(seconds)), edges, int(row["devices"]))
        orders.append(BestOrder(row["graph_id"], row["family"], problem, order, row["makespan"], row["listed"]))
    return orders
