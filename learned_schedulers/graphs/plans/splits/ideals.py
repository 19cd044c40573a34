"""Ideals: sets of units that contain all units that theirs need. A contiguous part is a difference of two ideals."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.problems.problem import Edges

MOST = 60_000  # Tarnawski et al. 2020 have the same limit


def ideals(children: Edges, most: int = MOST) -> np.ndarray | None:
    """(k, u) bool: all ideals of u units, smaller ones first; None if there are more than `most`."""
    u = len(children.offsets) - 1
    needs = [0] * u
    for source, target in zip(children.sources.tolist(), children.targets.tolist(), strict=True):
        needs[target] |= 1 << source
    all_ideals, layer = [0], {0}
    for _ in range(u):
        grown = set()
        for ideal in layer:
            for unit in range(u):
                if not ideal >> unit & 1 and not needs[unit] & ~ideal:
                    grown.add(ideal | 1 << unit)
            if len(all_ideals) + len(grown) > most:
                return None
        layer = grown
        all_ideals += sorted(layer)
    width = -(-max(u, 1) // 8)
    packed = b"".join(ideal.to_bytes(width, "little") for ideal in all_ideals)
    rows = np.frombuffer(packed, np.uint8).reshape(-1, width)
    return np.unpackbits(rows, axis=1, count=u, bitorder="little").astype(bool)


def prefixes(u: int) -> np.ndarray:
    """(u + 1, u) bool: the ideals that are prefixes of one topological order, that of the units' numbers."""
    return np.tri(u + 1, u, -1, bool)
