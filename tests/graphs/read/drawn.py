"""Small random graphs with costs of all kinds."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.read.graph import Graph, Operations, graph


def operations(n: int, rng: np.random.Generator) -> Operations:
    return Operations(
        kinds=[f"kind_{i % 3}" for i in range(n)],
        flops=rng.random(n),
        bytes_read=rng.integers(0, 100, n),
        bytes_written=rng.integers(0, 100, n),
        bytes_kept=rng.integers(0, 100, n),
        layers=[f"layer_{i // 4}" for i in range(n)],
        seconds=rng.random(n),
        labels=[f"node_{i}" for i in range(n)],
    )


def shuffled(n: int, edges: int, rng: np.random.Generator) -> tuple[Graph, np.ndarray, Operations, np.ndarray]:
    """A graph, the original number of each operation, and the operations and edges (2, E) that it is made of."""
    ends = np.sort(np.stack([rng.integers(0, n, edges), rng.integers(0, n, edges)]), axis=0)
    pairs = rng.permutation(n)[ends[:, ends[0] < ends[1]]]
    listed = operations(n, rng)
    drawn_graph, order = graph("drawn", "family", "drawn", listed, pairs[0], pairs[1])
    return drawn_graph, order, listed, pairs
