"""Tables of graphs: written as a whole or not at all; every error message names the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets.tables import GRAPHS
from pipeline.lab import tables


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
