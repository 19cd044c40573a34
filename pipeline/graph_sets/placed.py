"""The graphs of a set whose operations are to be placed, and the experts' placements of them, frozen in git."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets import experts, exported
from pipeline.graph_sets.settings import PlacedSet

EXPERTS = ("layers", "balanced", "published")


def chosen(settings: PlacedSet | FusionSet) -> list[Graph]:
    """All graphs of a set, by network and variant. Raises ValueError for a network that does not exist."""
    least, most = settings.operations
    graphs = [exported.load(name, variant) for name in settings.networks for variant in _variants(settings, name)]
    return [graph for graph in graphs if least <= len(graph) <= most]


def _variants(settings: PlacedSet | FusionSet, name: str) -> list[str]:
    """The set's variants that the network has; networks from ONNX files have no training graph."""
    return [variant for variant in settings.variants if variant == "forward" or not name.startswith("light_")]


def expert_placement(graph: Graph, seconds: np.ndarray, devices: int, expert: str) -> np.ndarray | None:
    """Device of each operation, (n,) int32, by one of EXPERTS; None if no placement is published.

    seconds: (n,), run time of each operation.
    """
    match expert:
        case "layers":
            return experts.by_layers(graph, devices)
        case "balanced":
            return experts.balanced(graph, seconds, devices)
        case "published":
            return experts.published(graph, devices)
    raise ValueError(f"no expert {expert!r}; the experts are {', '.join(EXPERTS)}")
