"""Tables of graphs and of experts' placements of them; every error message names the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets.tables import EXPERT_PLACEMENTS, GRAPHS
from pipeline.lab import tables

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


def frozen_placement(path: Path, graph_id: str, devices: int, expert: str) -> np.ndarray | None:
    """Device of each operation, (n,) int32, as an expert places it, from a table `expert_placements`; or None."""
    rows = tables.read(EXPERT_PLACEMENTS, path)
    row = rows[(rows["graph_id"] == graph_id) & (rows["devices"] == devices) & (rows["expert"] == expert)]
    return None if row.empty else np.asarray(row["placement"].iloc[0], np.int32)
