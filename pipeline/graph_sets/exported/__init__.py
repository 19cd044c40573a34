"""Exported graphs, cached in git as one table `graphs` per architecture: read without torch or the extras.

Variants: forward and training of every architecture, and `cell`, one step of a recurrent architecture, for `long`.
`python -m pipeline.graph_sets` makes them.
"""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.unroll import unroll, without_states
from pipeline.lab.graph_table import read_graphs

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Names of all cached architectures."""
    return sorted(path.stem for path in FOLDER.glob("*.parquet"))


def load(name: str, variant: str) -> Graph:
    """A cached graph. Raises ValueError for a graph that does not exist, TableError for a damaged file."""
    if name not in names():
        raise ValueError(f"no exported graph {name!r}; the graphs are {', '.join(names())}")
    graphs = {graph.variant: graph for graph in read_graphs(FOLDER / f"{name}.parquet")}
    if variant not in graphs:
        raise ValueError(f"no variant {variant!r} of the exported graph {name}; its variants are {', '.join(graphs)}")
    return graphs[variant]


def long(name: str, operations: int) -> Graph:
    """The fewest steps of a recurrent architecture with at least so many operations. Raises ValueError as `load`."""
    cell, edges = without_states(load(name, "cell"))
    return unroll(cell, edges, max(-(-operations // len(cell)), 1))
