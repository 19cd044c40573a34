"""Ten small graphs whose schedules can all be counted: 480 to 3,840 each, if devices have no names.

Run times were drawn once, uniform between 0.05 and 1 s.
"""

from __future__ import annotations

import numpy as np

from pipeline.graphs.problems.problem import Edges, Problem


def _graph(devices: int, seconds: list[float], pairs: list[tuple[int, int]]) -> Problem:
    """pairs: edges, sorted."""
    n, sources, targets = len(seconds), [source for source, _ in pairs], [target for _, target in pairs]
    offsets = np.searchsorted(sources, np.arange(n + 1)).astype(np.int32)
    return Problem(np.array(seconds), np.ones(n), Edges(offsets, np.array(targets, np.int32)), devices)


GRAPHS = {
    "independent_5_on_3": _graph(3, [0.31, 0.49, 0.16, 0.54, 0.44], []),
    "independent_6_on_2": _graph(2, [0.66, 0.31, 0.34, 0.12, 0.1, 0.82], []),
    "chain_and_free_6_on_2": _graph(2, [0.82, 0.05, 0.36, 0.14, 0.5, 0.64], [(0, 1), (1, 2)]),
    "diamond_and_free_6_on_3": _graph(3, [0.57, 0.17, 0.72, 0.63, 0.5, 0.34], [(0, 1), (0, 2), (1, 3), (2, 3)]),
    "crossed_6_on_3": _graph(3, [0.92, 0.13, 0.18, 0.41, 0.3, 0.64], [(0, 2), (0, 3), (1, 3), (2, 4), (3, 5)]),
    "two_chains_7_on_3": _graph(
        3, [0.71, 0.72, 0.78, 0.22, 0.76, 0.29, 0.56], [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6)]
    ),
    "fork_join_7_on_3": _graph(
        3,
        [0.26, 0.82, 0.15, 0.46, 0.65, 0.72, 0.15],
        [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 6), (2, 6), (3, 6), (4, 6), (5, 6)],
    ),
    "layered_7_on_2": _graph(
        2,
        [0.98, 0.33, 0.48, 0.34, 0.09, 0.28, 0.36],
        [(0, 2), (0, 3), (1, 3), (1, 4), (2, 5), (3, 5), (3, 6), (4, 6)],
    ),
    "out_tree_7_on_2": _graph(
        2, [0.6, 0.12, 0.93, 0.24, 0.55, 0.39, 0.42], [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]
    ),
    "in_tree_7_on_3": _graph(
        3, [0.91, 0.9, 0.63, 0.31, 0.19, 0.5, 0.21], [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)]
    ),
}
