"""The graphs of a set for fusion: whole graphs, or parts so small that every plan can be enumerated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets import exported
from pipeline.graph_sets.parts import drawn, part

_DRAWS = 200  # most parts that are drawn of a graph, until the number that the set asks for count


def fusion_graphs(settings: FusionSet, choices: Callable[[Graph], int]) -> list[Graph]:
    """All graphs of a set, each once. Raises ValueError for a network that does not exist.

    choices: the number of operations of a graph that may be fused.
    """
    least, most = settings.operations
    graphs = [exported.load(name, variant) for name in settings.networks for variant in _variants(settings, name)]
    whole = [graph for graph in graphs if least <= len(graph) <= most]
    if not settings.parts:
        return whole
    pieces = [piece for graph in whole for piece in _parts(settings, graph, choices)]
    return list({piece.graph_id: piece for piece in reversed(pieces)}.values())[::-1]


def _variants(settings: FusionSet, name: str) -> list[str]:
    """The set's variants that the network has; networks from ONNX files have no training graph."""
    return [variant for variant in settings.variants if variant == "forward" or not name.startswith("light_")]


def _parts(settings: FusionSet, graph: Graph, choices: Callable[[Graph], int]) -> Iterator[Graph]:
    rng = np.random.default_rng([settings.seed, *f"{graph.name} {graph.variant}".encode()])
    graph_ids: set[str] = set()
    for k in range(_DRAWS):
        chosen = drawn(graph, *settings.part_operations, rng)
        if chosen is None or len(graph_ids) == settings.parts:
            return
        piece = part(graph, chosen, f"{graph.name}_{graph.variant}_part_{k}")
        if piece.graph_id not in graph_ids and 2 <= choices(piece) <= settings.most_choices:
            graph_ids.add(piece.graph_id)
            yield piece
