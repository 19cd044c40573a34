"""The graphs of a set that is to be fused: whole ones, or small parts of which every plan can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pipeline.config.fusion import FusionSet
from pipeline.graphs.corpus import exported
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.corpus.parts import drawn, part

_DRAWS = 200  # parts of a graph that are looked at, until as many count as the set wants


def fusion_graphs(settings: FusionSet, choices: Callable[[Graph], int]) -> list[Graph]:
    """All graphs of a set, each once. choices: how many operations may be fused. Raises ValueError for no network."""
    least, most = settings.operations
    graphs = [exported.load(name, variant) for name in settings.networks for variant in _variants(settings, name)]
    whole = [graph for graph in graphs if least <= len(graph) <= most]
    if not settings.parts:
        return whole
    pieces = [piece for graph in whole for piece in _parts(settings, graph, choices)]
    return list({piece.graph_id: piece for piece in reversed(pieces)}.values())[::-1]


def _variants(settings: FusionSet, name: str) -> list[str]:
    """Networks from ONNX files have no training graph."""
    return [variant for variant in settings.variants if variant == "forward" or not name.startswith("light_")]


def _parts(settings: FusionSet, graph: Graph, choices: Callable[[Graph], int]) -> Iterator[Graph]:
    rng = np.random.default_rng([settings.seed, *f"{graph.name} {graph.variant}".encode()])
    seen: set[str] = set()
    for k in range(_DRAWS):
        chosen = drawn(graph, *settings.part_operations, rng)
        if chosen is None or len(seen) == settings.parts:
            return
        piece = part(graph, chosen, f"{graph.name}_{graph.variant}_part_{k}")
        if piece.graph_id not in seen and 2 <= choices(piece) <= settings.most_choices:
            seen.add(piece.graph_id)
            yield piece
