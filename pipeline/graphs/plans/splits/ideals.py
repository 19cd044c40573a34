"""Sets of units that hold all that their units need: a contiguous part of a graph is one of them without another."""

from __future__ import annotations

import numpy as np

from pipeline.graphs.problems.problem import Edges

MOST = 60_000  # Tarnawski et al. 2020 give up there, too


def ideals(children: Edges, most: int = MOST) -> np.ndarray | None:
    """(k, u) bool: all sets of u units with all that lies before them, smaller ones first; None if more than `most`."""
    u = len(children.offsets) - 1
    needs = [0] * u
    for source, target in zip(children.sources.tolist(), children.targets.tolist(), strict=True):
        needs[target] |= 1 << source
    found, layer = [0], {0}
    for _ in range(u):
        grown = set()
        for ideal in layer:
            for unit in range(u):
                if not ideal >> unit & 1 and not needs[unit] & ~ideal:
                    grown.add(ideal | 1 << unit)
            if len(found) + len(grown) > most:
                return None
        layer = grown
        found += sorted(layer)
    width = -(-max(u, 1) // 8)
    rows = np.frombuffer(b"".join(ideal.to_bytes(width, "little") for ideal in found), np.uint8).reshape(-1, width)
    return np.unpackbits(rows, axis=1, count=u, bitorder="little").astype(bool)


def prefixes(u: int) -> np.ndarray:
    """(u + 1, u) bool: those of one topological order, that of the units' numbers."""
    return np.tri(u + 1, u, -1, bool)
