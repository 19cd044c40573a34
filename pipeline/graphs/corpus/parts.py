"""Connected parts of a graph that depend on each other as they do in the whole."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.problems.problem import Edges

_TRIES = 100  # windows that are drawn for one part


def part(graph: Graph, chosen: np.ndarray, name: str) -> Graph:
    """The graph of these operations, ascending numbers, (k,), and the edges between them; costs stay as they are."""
    number = np.full(len(graph), -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    sources, targets = number[graph.children.sources], number[graph.children.targets]
    inside = (sources >= 0) & (targets >= 0)
    counts = np.bincount(sources[inside], minlength=len(chosen))
    edges = Edges(np.r_[0, np.cumsum(counts)].astype(np.int32), targets[inside].astype(np.int32))
    return Graph(
        name=name,
        family=graph.family,
        variant=graph.variant,
        kinds=tuple(graph.kinds[i] for i in chosen),
        flops=graph.flops[chosen],
        bytes_read=graph.bytes_read[chosen],
        bytes_written=graph.bytes_written[chosen],
        bytes_kept=graph.bytes_kept[chosen],
        layers=tuple(graph.layers[i] for i in chosen),
        seconds=graph.seconds[chosen] if len(graph.seconds) else graph.seconds,
        children=edges,
    )


def drawn(graph: Graph, least: int, most: int, rng: np.random.Generator) -> np.ndarray | None:
    """Ascending numbers of the operations of a connected part, `least` to `most` of them; None where none was found.

    A window of consecutive operations, its length log-uniform from `least` to `most` and its begin uniform; of it the
    largest piece that hangs together, and another window where that has less than `least` operations. Numbers are a
    topological order, so every path between two operations of a window lies in it: no dependency is lost.
    """
    for _ in range(_TRIES):
        length = int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))
        position = rng.random()
        if length >= len(graph):
            continue
        begin = int(position * (len(graph) - length + 1))
        window = _largest_piece(graph, begin, begin + length)
        if len(window) >= least:
            return window
    return None


def _largest_piece(graph: Graph, begin: int, end: int) -> np.ndarray:
    """Of the operations begin..end-1 the most that hang together, of equals those with the smallest number."""
    offsets, n = graph.children.offsets, end - begin
    targets = graph.children.targets[offsets[begin] : offsets[end]] - begin
    sources = np.repeat(np.arange(n), np.diff(offsets[begin : end + 1]))
    inside = targets < n
    ones = np.ones(int(inside.sum()), np.int8)
    _, piece = connected_components(coo_array((ones, (sources[inside], targets[inside])), (n, n)), directed=False)
    return begin + np.flatnonzero(piece == np.bincount(piece).argmax())
