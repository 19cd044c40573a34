"""Tiny tables at their places (places.py), for tests of evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.lab import chapters, tables
from pipeline.lab.places import path
from pipeline.lab.shared_tables import LATENCY, SCHEDULES

Order = tuple[int, ...]


def lay(root: Path, kind: str, frame: pd.DataFrame, **fields: object) -> Path:
    """The table at its place below `root`."""
    place = root / path(kind, **fields)
    tables.write(frame, chapters.tables()[kind], place)
    return place


def a_set(root: Path, name: str, lengths: Mapping[str, int]) -> Path:
    """Table `sets` of blocks, in another order than that of the resamples."""
    orders = [np.arange(n) for n in lengths.values()]
    frame = pd.DataFrame({"block_id": list(lengths), "input_order": orders})
    return lay(root, "sets", frame[::-1], set=name)


def graphs(
    root: Path, lengths: Mapping[str, int], edges: Mapping[str, list[Order]], legal: float = 3.0, mode: str = "full"
) -> Path:
    """Table `dags` of blocks; those without edges have n! legal orders as well as any other: `legal`."""
    rows = [
        {
            "block_id": block,
            "n_instructions": n,
            "before": [before for before, _ in edges.get(block, [])],
            "after": [after for _, after in edges.get(block, [])],
            "kinds": [1 for _ in edges.get(block, [])],
            "implied_before": [],
            "implied_after": [],
            "implied_kinds": [],
            "latencies": [1] * n,
            "n_legal_orders": 1.0 if len(edges.get(block, [])) == n - 1 else legal,
            "orders_exact": True,
        }
        for block, n in lengths.items()
    ]
    return lay(root, "dags", pd.DataFrame(rows), dependencies=mode)


def schedules(
    root: Path, orders: Mapping[str, Order | str], method: str, seed: int = 0, decoder: str = "none", **fields: object
) -> Path:
    """Table `schedules`; an order is a tuple, or the status of a block without one; `violates` if 1 precedes 0."""
    rows = [
        (block, decoder, [], order, "")
        if isinstance(order, str)
        else (block, decoder, list(order), "violates" if order.index(1) < order.index(0) else "ok", "")
        for block, order in orders.items()
    ]
    frame = pd.DataFrame(rows, columns=SCHEDULES.schema.names)
    return lay(root, "schedules", frame, method=method, seed=seed, **fields)


def judged(root: Path, cycles: Mapping[tuple[str, Order], float], judge: str, **fields: object) -> Path:
    """Table `latency`; NaN cycles are of an unsupported order."""
    rows = [
        (block, list(order), judge, value, "unsupported" if np.isnan(value) else "ok", "")
        for (block, order), value in cycles.items()
    ]
    return lay(root, "latency", pd.DataFrame(rows, columns=LATENCY.schema.names), judge=judge, **fields)


def number(table: pd.DataFrame, **key: str) -> tuple[float, int]:
    """Value and n of the single row of `results` with these columns; the default of comparison is `value`."""
    values = {"comparison": "value", "seed": "all", **key}
    [(value, n)] = table.loc[np.logical_and.reduce([table[k] == v for k, v in values.items()]), ["value", "n"]].values
    return float(value), int(n)
