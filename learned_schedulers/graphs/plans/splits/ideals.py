"""Ideals: sets of units that contain all units that theirs need. A contiguous part is a difference of two ideals."""

from __future__ import annotations

import math
import time

import numpy as np

from learned_schedulers.graphs.problems.problem import Edges

MOST = 400_000  # their arrays take some 200 MB; Tarnawski et al. 2020 stop at 60,000


def ideals(children: Edges, most: int = MOST, until: float = math.inf) -> np.ndarray | None:
    """(k, u) bool: all ideals of u units, smaller ones first.

    None if there are more than `most`, or if `time.monotonic()` passes `until`.
    """
    u = len(children.offsets) - 1
    needs, following = [0] * u, [0] * u
    for source, target in zip(children.sources.tolist(), children.targets.tolist(), strict=True):
        needs[target] |= 1 << source
        following[source] |= 1 << target
    all_ideals, layer = [0], {0: sum(1 << unit for unit in range(u) if not needs[unit])}  # ideal -> units that may join
    for _ in range(u):
        grown: dict[int, int] = {}
        for ideal, ready in layer.items():
            for unit in _members(ready):
                larger = ideal | 1 << unit
                if larger not in grown:
                    after = [child for child in _members(following[unit]) if not needs[child] & ~larger]
                    grown[larger] = (ready ^ 1 << unit) | sum(1 << child for child in after)
            if len(all_ideals) + len(grown) > most:
                return None
        if time.monotonic() > until:
            return None
        layer = grown
        all_ideals += sorted(layer)
    width = -(-max(u, 1) // 8)
    packed = b"".join(ideal.to_bytes(width, "little") for ideal in all_ideals)
    rows = np.frombuffer(packed, np.uint8).reshape(-1, width)
    return np.unpackbits(rows, axis=1, count=u, bitorder="little").astype(bool)


def _members(units: int) -> list[int]:
    """Numbers of the bits that are set."""
    numbers = []
    while units:
        bit = units & -units
        numbers.append(bit.bit_length() - 1)
        units ^= bit
    return numbers


def prefixes(u: int) -> np.ndarray:
    """(u + 1, u) bool: the ideals that are prefixes of one topological order, that of the units' numbers."""
    return np.tri(u + 1, u, -1, bool)
