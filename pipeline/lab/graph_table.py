"""Tables of graphs and of experts' placements of them; every error message names the file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from tqdm import tqdm

from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets.tables import EXPERT_PLACEMENTS, GRAPHS
from pipeline.lab import tables
from pipeline.lab.table import Table

FROZEN_PLACEMENTS = Path("learned_schedulers/graphs/devices/frozen/expert_placements.parquet")  # from the root on


def write_graphs(path: Path, graphs: Sequence[Graph]) -> None:
    """Write one row per graph."""
    rows = pd.DataFrame([graph.to_row() for graph in graphs], columns=GRAPHS.schema.names)
    tables.write(rows, GRAPHS, path)


def read_graphs(path: Path) -> list[Graph]:
    """All graphs of a table. Raises TableError if the file is missing, damaged or another table, or a row is wrong."""
    try:
        return [Graph.from_row(row) for row in tables.read(GRAPHS, path).to_dict("records")]
    except tables.TableError:
        raise
    except (ValueError, pa.ArrowException) as error:
        raise tables.TableError(f"{path}: table graphs is damaged: {error}") from error


def graph_named(path: Path, name: str) -> Graph:
    """The graph of a name and variant, `gnmt_8 forward`, in a table. Raises ValueError with the names that it has."""
    graphs = {f"{graph.name} {graph.variant}": graph for graph in read_graphs(path)}
    if name not in graphs:
        raise ValueError(f"{path}: no graph {name!r}; shown.graph may be one of {', '.join(sorted(graphs))}")
    return graphs[name]


def write_for_each(
    graphs: Path, rows_of: Callable[[Graph], Iterable[Mapping[str, Any]]], table: Table, path: Path
) -> None:
    """Write a table that has rows of each graph of table `graphs`, in its sequence, and show the progress."""
    every = tqdm(read_graphs(graphs), "graphs", unit="graph", file=sys.stderr)
    tables.write_rows([row for graph in every for row in rows_of(graph)], table, path)


def kept_schedules(row: Mapping[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Orders and placements, (K, n) int32 each, of a row of table graph_schedules."""
    shape = (len(row["seen_seconds"]), int(row["operations"]))
    orders, placements = (np.asarray(row[name]).astype(np.int32).reshape(shape) for name in ("orders", "placements"))
    return orders, placements


def frozen_placement(path: Path, graph_id: str, devices: int, expert: str) -> np.ndarray | None:
    """Device of each operation, (n,) int32, as an expert places it, from a table `expert_placements`; or None."""
    rows = tables.read(EXPERT_PLACEMENTS, path)
    row = rows[(rows["graph_id"] == graph_id) & (rows["devices"] == devices) & (rows["expert"] == expert)]
    return None if row.empty else np.asarray(row["placement"].iloc[0], np.int32)
