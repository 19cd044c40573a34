"""The frozen parts of unseen graphs, with the seconds of the best default and of the best of all plans."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.graphs.corpus.graph import Graph

PARTS = Path(__file__).parent / "frozen" / "fusion_parts.csv"
_ROUNDING = 1 - 1e-6  # sums in different sequences differ by less


def with_head_room(graphs: Sequence[Graph]) -> list[Graph]:
    """The frozen parts on which some plan is better than every default.

    On the remaining parts no method can gain, and a method that starts from the best default cannot lose. Raises
    ValueError for a graph that is not frozen.
    """
    frozen = pd.read_csv(PARTS).set_index("graph_id")
    if unknown := [graph.name for graph in graphs if graph.graph_id not in frozen.index]:
        raise ValueError(f"{PARTS.name} does not contain {unknown[0]}; freeze the parts anew before any training")
    better = frozen["optimum_seconds"] < frozen["default_seconds"] * _ROUNDING
    return [graph for graph in graphs if better[graph.graph_id]]
