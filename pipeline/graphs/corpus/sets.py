"""The graphs of a named set: which were looked at, and why some of them do not count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import numpy as np

from pipeline.config.graph_sets import Exported, GraphSet, GraphSource, Synthetic, Workloads
from pipeline.graphs.corpus import exported, synthetic
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.graph_table import read_graphs
from pipeline.graphs.corpus.parts import drawn, part
from pipeline.graphs.corpus.workloads import read_workload

WHOLE, PART = "whole", "part"
DRAWS = 200  # parts of a graph that are looked at, until as many count as the set wants
Refused = Callable[[Graph], str]  # why a graph does not count; empty where it does


@dataclass(frozen=True)
class Candidate:
    """A graph that was looked at, whether it is a part of another one, and why it does not count; empty if it does."""

    graph: Graph
    extent: str
    refused: str


def candidates(settings: GraphSet, refused: Refused) -> list[Candidate]:
    """All that were looked at, in the order of the set's sources, equal graphs once.

    Raises ValueError for a family or a file that is not there, and for graphs as their readers do.
    """
    every = [candidate for source in settings.sources for candidate in _of(source, refused)]
    first = {candidate.graph.graph_id: candidate for candidate in reversed(every)}
    return list(first.values())[::-1]


def _of(source: GraphSource, refused: Refused) -> Iterator[Candidate]:
    match source:
        case Exported():
            return _exported(source, refused)
        case Synthetic():
            return _synthetic(source, refused)
        case Workloads():
            return _workloads(source, refused)


def _exported(source: Exported, refused: Refused) -> Iterator[Candidate]:
    graphs = [graph for name in exported.names() for graph in read_graphs(exported.FOLDER / f"{name}.parquet")]
    if missing := sorted(set(source.families) - (families := {graph.family for graph in graphs})):
        raise ValueError(f"no exported graph is of the families {missing}; there are {sorted(families)}")
    for graph in graphs:
        if graph.family in source.families and graph.variant in source.variants:
            if source.whole:
                yield Candidate(graph, WHOLE, _size(source, graph) or refused(graph))
            yield from _parts(source, graph, refused)


def _size(source: Exported, graph: Graph) -> str:
    least, most = source.operations
    if len(graph) < least:
        return f"fewer than {least} operations"
    return f"more than {most} operations" if len(graph) > most else ""


def _parts(source: Exported, graph: Graph, refused: Refused) -> Iterator[Candidate]:
    """Different parts, until so many count; they follow from the graph's name, its variant and the seed alone."""
    rng = np.random.default_rng([source.seed, *f"{graph.name} {graph.variant}".encode()])
    different: set[str] = set()
    counted = 0
    for k in range(DRAWS if source.parts else 0):
        chosen = drawn(graph, *source.operations, rng)
        if chosen is None:
            return
        piece = part(graph, chosen, f"{graph.name}_{graph.variant}_part_{k}")
        if piece.graph_id in different:
            continue
        different.add(piece.graph_id)
        why = refused(piece)
        yield Candidate(piece, PART, why)
        counted += not why
        if counted == source.parts:
            return


def _synthetic(source: Synthetic, refused: Refused) -> Iterator[Candidate]:
    for family in source.families:
        rng = np.random.default_rng([source.seed, *family.encode()])
        for k in range(source.graphs):
            graph = synthetic.draw(family, source.operations, rng, f"{family}_seed_{source.seed}_{k}")
            yield Candidate(graph, WHOLE, refused(graph))


def _workloads(source: Workloads, refused: Refused) -> Iterator[Candidate]:
    for pattern in source.include:
        if not (paths := sorted(glob(pattern))):
            raise ValueError(f"no file is named {pattern}; correct the set's `include`")
        for path in paths:
            graph = read_workload(Path(path)).graph
            yield Candidate(graph, WHOLE, refused(graph))
