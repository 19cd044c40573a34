"""Random graphs of five families (Zhang et al. 2023, section 5.1 and appendix) of any size, in O(operations + edges).

The paper does not print its parameters. Here every family has on average two edges per operation; the function of a
family says the rest. Undirected edges are oriented by node number. Run times are U(0, 1) seconds, results U(0, 1)
megabytes, rounded to bytes; there are no weights, and FLOPs are 0.
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np

from learned_schedulers.graphs.read.graph import Graph, Operations, graph

EDGES_PER_OPERATION = 2
_MEGABYTE = 1_000_000
_REWIRED = 0.75  # share of rewired edges at which Watts-Strogatz networks did best in Xie et al. 2019
_COMMUNITIES = 4  # in a stochastic block model
_INSIDE = 8.0  # an edge within a community is this many times as likely as an edge between two communities

Pairs = np.ndarray  # (E, 2) int64: ends of edges in either order


def draw(family: str, n: int, rng: np.random.Generator, name: str | None = None) -> Graph:
    """A graph of n operations. Raises ValueError for an unknown family, or less than 0 operations."""
    if family not in FAMILIES:
        raise ValueError(f"no family of random graphs {family!r}; the families are {', '.join(FAMILIES)}")
    if n < 0:
        raise ValueError(f"a graph of {n} operations; there must be 0 or more")
    pairs = FAMILIES[family](n, rng) if n > 1 else np.zeros((0, 2), np.int64)
    nothing = np.zeros(n, np.int64)
    operations = Operations(
        kinds=["drawn"] * n,
        flops=np.zeros(n),
        bytes_read=nothing,
        bytes_written=np.rint(rng.random(n) * _MEGABYTE).astype(np.int64),
        bytes_kept=nothing,
        seconds=rng.random(n),
    )
    return graph(name or f"{family}_{n}", family, "drawn", operations, pairs.min(1), pairs.max(1))[0]


def erdos_renyi(n: int, rng: np.random.Generator) -> Pairs:
    """Every pair of operations is joined with the same probability."""
    return _pairs(nx.fast_gnp_random_graph(n, min(2 * EDGES_PER_OPERATION / (n - 1), 1.0), seed=rng))


def layered(n: int, rng: np.random.Generator) -> Pairs:
    """About sqrt(n) layers of random widths; each operation reads two results of the layer before, or its only one."""
    layers = max(round(n**0.5), 1)
    extra = rng.multinomial(n - layers, np.full(layers, 1 / layers))
    first = np.r_[0, np.cumsum(extra + 1)]  # operation of each layer
    layer = np.repeat(np.arange(layers), extra + 1)
    readers = np.arange(first[1], n)
    begin, width = first[layer[readers] - 1], first[layer[readers]] - first[layer[readers] - 1]
    position = (rng.random(len(readers)) * width).astype(np.int64)
    # A different operation of the same layer, 1 to width - 1 positions further; the same one if the layer has only one.
    second = (position + 1 + (rng.random(len(readers)) * (width - 1)).astype(np.int64)) % width
    return np.stack([np.r_[begin + position, begin + second], np.r_[readers, readers]], 1)


def stochastic_block(n: int, rng: np.random.Generator) -> Pairs:
    """Communities of consecutive numbers, with more edges within communities than between them.

    networkx iterates over all n^2 pairs; here the number of edges between two communities is drawn first, and then the
    edges themselves.
    """
    first = np.linspace(0, n, _COMMUNITIES + 1).astype(np.int64)
    sizes = np.diff(first)
    blocks = [(a, b) for a in range(_COMMUNITIES) for b in range(a, _COMMUNITIES)]
    possible = np.array([sizes[a] * (sizes[a] - 1) // 2 if a == b else sizes[a] * sizes[b] for a, b in blocks])
    weight = np.array([_INSIDE if a == b else 1.0 for a, b in blocks])
    chance = np.minimum(weight * EDGES_PER_OPERATION * n / (weight @ possible), 1.0)
    pairs = []
    for (a, b), pair_count, p in zip(blocks, possible.tolist(), chance.tolist(), strict=True):
        chosen = rng.choice(pair_count, rng.binomial(pair_count, p), replace=False) if pair_count else _NONE
        if a == b:  # number k stands for the k-th pair (i, j) with j < i
            i = ((1 + np.sqrt(8.0 * chosen + 1)) / 2).astype(np.int64)
            i -= i * (i - 1) // 2 > chosen  # the root may be rounded up
            j = chosen - i * (i - 1) // 2
        else:
            i, j = chosen // sizes[b], chosen % sizes[b]
        pairs.append(np.stack([first[a] + i, first[b] + j], 1))
    return np.concatenate(pairs)


def watts_strogatz(n: int, rng: np.random.Generator) -> Pairs:
    """A ring that joins each operation to its next two; a share of the edges gets a new, random end."""
    return _pairs(nx.watts_strogatz_graph(n, min(2 * EDGES_PER_OPERATION, n - 1), _REWIRED, seed=rng))


def barabasi_albert(n: int, rng: np.random.Generator) -> Pairs:
    """Operations are added one by one; each reads two results with probabilities proportional to their edges so far."""
    return _pairs(nx.barabasi_albert_graph(n, min(EDGES_PER_OPERATION, n - 1), seed=rng))


FAMILIES: dict[str, Callable[[int, np.random.Generator], Pairs]] = {
    "erdos_renyi": erdos_renyi,
    "layered": layered,
    "stochastic_block": stochastic_block,
    "watts_strogatz": watts_strogatz,
    "barabasi_albert": barabasi_albert,
}
_NONE = np.zeros(0, np.int64)


def _pairs(drawn: nx.Graph) -> Pairs:
    return np.array(drawn.edges, np.int64).reshape(-1, 2)
