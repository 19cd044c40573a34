"""Tables of graphs: written whole or not at all, and read with the file's name in every fault."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa

from pipeline import tables
from pipeline.graphs.corpus.graph import Graph


def write_graphs(path: Path, graphs: Sequence[Graph]) -> None:
    """One row a graph."""
    rows = pd.DataFrame([graph.to_row() for graph in graphs], columns=tables.SCHEMAS["graphs"].names)
    tables.write(rows, "graphs", path)


def read_graphs(path: Path) -> list[Graph]:
    """Raises TableError where the file is missing, damaged or another table, or a row of it is no graph."""
    try:
        return [Graph.from_row(row) for row in tables.read("graphs", path).to_dict("records")]
    except tables.TableError:
        raise
    except (ValueError, pa.ArrowException) as error:
        raise tables.TableError(f"{path}: table graphs is damaged: {error}") from error
