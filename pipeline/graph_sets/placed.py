"""The graphs of a set whose operations are to be placed, and the experts' placements of them, frozen in git."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learned_schedulers.graphs.devices.judging import FROZEN
from learned_schedulers.graphs.read.graph import Graph
from pipeline.graph_sets import experts, exported
from pipeline.graph_sets.tables import EXPERT_PLACEMENTS
from pipeline.lab import tables
from pipeline.lab.config.graph_sets import PlacedSet

EXPERTS = ("layers", "balanced", "published")
PLACEMENTS = FROZEN / "expert_placements.parquet"


def chosen(settings: PlacedSet) -> list[Graph]:
    """All graphs of a set, by network and variant. Raises ValueError for a network that does not exist."""
    least, most = settings.operations
    graphs = [exported.load(name, variant) for name in settings.networks for variant in _variants(settings, name)]
    return [graph for graph in graphs if least <= len(graph) <= most]


def _variants(settings: PlacedSet, name: str) -> list[str]:
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


def frozen_placement(path: Path, graph_id: str, devices: int, expert: str) -> np.ndarray | None:
    """The same as `expert_placement`, read from the table of frozen placements. None if it has no such row."""
    rows = tables.read(EXPERT_PLACEMENTS, path)
    row = rows[(rows["graph_id"] == graph_id) & (rows["devices"] == devices) & (rows["expert"] == expert)]
    return None if row.empty else np.asarray(row["placement"].iloc[0], np.int32)
