"""The graphs of a named set: the candidates, and why some of them do not count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path

import numpy as np

from learned_schedulers.graphs.read import synthetic
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.read.workloads import read_workload
from pipeline.graph_sets import exported
from pipeline.graph_sets.parts import Refusal, parts
from pipeline.graph_sets.settings import Exported, GraphSet, GraphSource, Synthetic, Workloads
from pipeline.lab.graph_table import read_graphs

WHOLE, PART = "whole", "part"


@dataclass(frozen=True)
class Candidate:
    """A graph that may belong to a set."""

    graph: Graph
    extent: str  # WHOLE | PART
    refused: str  # why it does not count; empty if it counts


def candidates(settings: GraphSet, refusal_of: Refusal) -> list[Candidate]:
    """All candidates in the order of the set's sources; equal graphs appear once.

    Raises ValueError for a family or a file that does not exist, and for invalid graphs, as their readers do.
    """
    all_candidates = [candidate for source in settings.sources for candidate in _candidates_of(source, refusal_of)]
    by_id = {
        candidate.graph.graph_id: candidate for candidate in reversed(all_candidates)
    }  # the first of equal graphs stays
    return list(by_id.values())[::-1]


def _candidates_of(source: GraphSource, refusal_of: Refusal) -> Iterator[Candidate]:
    match source:
        case Exported():
            return _exported(source, refusal_of)
        case Synthetic():
            return _synthetic(source, refusal_of)
        case Workloads():
            return _workloads(source, refusal_of)


def _exported(source: Exported, refusal_of: Refusal) -> Iterator[Candidate]:
    graphs = [graph for name in exported.names() for graph in read_graphs(exported.FOLDER / f"{name}.parquet")]
    if missing := sorted(set(source.families) - (families := {graph.family for graph in graphs})):
        raise ValueError(f"no exported graph belongs to the families {missing}; the families are {sorted(families)}")
    for graph in graphs:
        if graph.family in source.families and graph.variant in source.variants:
            if source.whole:
                yield Candidate(graph, WHOLE, _size(source, graph) or refusal_of(graph))
            for piece, refused in parts(graph, source.operations, source.seed, source.parts, refusal_of):
                yield Candidate(piece, PART, refused)


def _size(source: Exported, graph: Graph) -> str:
    least, most = source.operations
    if len(graph) < least:
        return f"fewer than {least} operations"
    return f"more than {most} operations" if len(graph) > most else ""


def _synthetic(source: Synthetic, refusal_of: Refusal) -> Iterator[Candidate]:
    for family in source.families:
        rng = np.random.default_rng([source.seed, *family.encode()])
        for k in range(source.graphs):
            graph = synthetic.draw(family, source.operations, rng, f"{family}_seed_{source.seed}_{k}")
            yield Candidate(graph, WHOLE, refusal_of(graph))


def _workloads(source: Workloads, refusal_of: Refusal) -> Iterator[Candidate]:
    for pattern in source.include:
        if not (paths := sorted(glob(pattern))):
            raise ValueError(f"no file matches {pattern}; correct the set's `include`")
        for path in paths:
            graph = read_workload(Path(path)).graph
            yield Candidate(graph, WHOLE, refusal_of(graph))
