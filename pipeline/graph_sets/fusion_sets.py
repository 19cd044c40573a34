"""The graphs of a set for fusion: whole graphs, or parts so small that every plan can be enumerated."""

from __future__ import annotations

from collections.abc import Callable

from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets.parts import parts
from pipeline.graph_sets.placed import chosen


def fusion_graphs(settings: FusionSet, choices: Callable[[Graph], int]) -> list[Graph]:
    """All graphs of a set, each once. Raises ValueError for a network that does not exist.

    choices: the number of operations of a graph that may be fused.
    """
    whole = chosen(settings)
    if not settings.parts:
        return whole

    def refusal_of(piece: Graph) -> str:
        return "" if 2 <= choices(piece) <= settings.most_choices else "too few or too many choices"

    pieces = [
        piece
        for graph in whole
        for piece, refused in parts(graph, settings.part_operations, settings.seed, settings.parts, refusal_of)
        if not refused
    ]
    return list({piece.graph_id: piece for piece in reversed(pieces)}.values())[::-1]
