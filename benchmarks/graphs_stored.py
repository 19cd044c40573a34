"""Bytes of a stored computation graph by its operations: `python -m benchmarks.graphs_stored`.

The graphs are those of benchmarks/whole_graph_scale.py. A table with one graph is written as stage graph_sets writes
it; seconds are of the processor, to make the graph and to write it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.publishing import PUBLISHED, publish
from pipeline.analysis.rows import Quantity, Row, results, row
from pipeline.graphs.corpus import exported
from pipeline.graphs.corpus.graph_table import write_graphs

NETWORK = "rnnlm_8"
SIZES = (1000, 3000, 10_000, 30_000, 80_000)


def measured(operations: int, file: Path) -> Iterator[Row]:
    """Rows of table results of one size."""
    began = time.process_time()
    graph = exported.long(NETWORK, operations)
    write_graphs(file, [graph])
    seconds = time.process_time() - began
    place = {"experiment": "graphs_stored", "set": NETWORK, "seed": "all"}
    for metric, unit, value in (("graph_bytes", "bytes", file.stat().st_size), ("graph_seconds", "seconds", seconds)):
        yield row(place, Quantity(metric, lengths=str(len(graph)), unit=unit), value, n=1)


def main(out: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "graphs_stored") -> None:
    """Write a graph of each size, and publish bytes and seconds."""
    exported.long(NETWORK, SIZES[0])  # what is loaded once does not count
    with tempfile.TemporaryDirectory() as folder:
        rows = [each for size in SIZES for each in measured(size, Path(folder) / f"{size}.parquet")]
    table = results(rows)
    print(table[["lengths", "metric", "value"]].to_string(index=False))
    publish(out, {"results": table}, {"sizes": list(SIZES), "network": NETWORK}, ["benchmarks.graphs_stored"])


if __name__ == "__main__":
    typer.run(main)
