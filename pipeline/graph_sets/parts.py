"""Connected parts of a graph, with all dependencies that their operations have in the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.graph import Graph

DRAWS = 200  # most parts that are drawn of a graph, until the number that a set asks for count
Refusal = Callable[[Graph], str]  # why a graph does not count; empty if it counts
_TRIES = 100  # windows that are drawn for a part


def parts(
    graph: Graph, operations: tuple[int, int], seed: int, count: int, refusal_of: Refusal
) -> Iterator[tuple[Graph, str]]:
    """Different parts, each with the reason why it does not count, until `count` of them do.

    operations: the least and the most of a part. The parts depend on the graph's name, its variant and the seed alone.
    """
    rng = np.random.default_rng([seed, *f"{graph.name} {graph.variant}".encode()])
    different: set[str] = set()
    counted = 0
    for k in range(DRAWS if count else 0):
        chosen = drawn(graph, *operations, rng)
        if chosen is None:
            return
        piece = part(graph, chosen, f"{graph.name}_{graph.variant}_part_{k}")
        if piece.graph_id in different:
            continue
        different.add(piece.graph_id)
        refused = refusal_of(piece)
        yield piece, refused
        counted += not refused
        if counted == count:
            return


def part(graph: Graph, chosen: np.ndarray, name: str) -> Graph:
    """The graph of the operations `chosen`, (k,) ascending, and the edges between them; costs do not change."""
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
    """Ascending numbers of `least` to `most` operations that form a connected part; None if none was found.

    A window of consecutive operations is drawn, with a length log-uniform from `least` to `most` and a uniform begin;
    the part is the largest connected component of the window. A component of less than `least` operations is drawn
    again. Numbers are a topological order, so a window contains every path between two of its operations: no dependency
    is lost.
    """
    for _ in range(_TRIES):
        length = int(np.exp(rng.uniform(np.log(least), np.log(most + 1))))
        position = rng.random()
        if length >= len(graph):
            continue
        begin = int(position * (len(graph) - length + 1))
        window = _largest_component(graph, begin, begin + length)
        if len(window) >= least:
            return window
    return None


def _largest_component(graph: Graph, begin: int, end: int) -> np.ndarray:
    """The largest connected component of operations begin..end-1; of equal ones that with the smallest number."""
    offsets, n = graph.children.offsets, end - begin
    targets = graph.children.targets[offsets[begin] : offsets[end]] - begin
    sources = np.repeat(np.arange(n), np.diff(offsets[begin : end + 1]))
    inside = targets < n
    entries = np.ones(int(inside.sum()), np.int8)
    adjacency = coo_array((entries, (sources[inside], targets[inside])), (n, n))
    _, component = connected_components(adjacency, directed=False)
    return begin + np.flatnonzero(component == np.bincount(component).argmax())
