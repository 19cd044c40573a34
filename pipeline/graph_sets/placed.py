"""The graphs of a set whose operations are to be placed."""

from __future__ import annotations

from learned_schedulers.graphs.models.fusing.settings import FusionSet
from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets import exported
from pipeline.graph_sets.settings import PlacedSet


def chosen(settings: PlacedSet | FusionSet) -> list[Graph]:
    """All graphs of a set, by network and variant. Raises ValueError for a network that does not exist."""
    least, most = settings.operations
    graphs = [exported.load(name, variant) for name in settings.networks for variant in _variants(settings, name)]
    return [graph for graph in graphs if least <= len(graph) <= most]


def _variants(settings: PlacedSet | FusionSet, name: str) -> list[str]:
    """The set's variants that the network has; networks from ONNX files have no training graph."""
    return [variant for variant in settings.variants if variant == "forward" or not name.startswith("light_")]
