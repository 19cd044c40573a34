"""Distance of "pick a random ready instruction" from the uniform distribution over legal orders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

import numpy as np


class Departure(NamedTuple):
    """Distances of the distribution of `random_ready` from uniform over the N legal orders of one DAG."""

    n_legal_orders: int
    total_variation: float  # half the sum of |p - 1 / N| over orders; 0: uniform
    divergence: float  # Kullback-Leibler of p from uniform, sum of p ln(p N), nats: the missing entropy


def departure(n: int, edges: Iterable[tuple[int, int]]) -> Departure:
    """The distances of one DAG of n instructions, exactly.

    An order's probability is 1 / (product over slots of the number of ready instructions). Dynamic programming over
    down-sets counts the orders with each product, without an enumeration of orders.
    """
    needed = [0] * n
    for before, after in edges:
        needed[after] |= 1 << before
    layer: dict[int, Counter[int]] = {0: Counter({1: 1})}
    for _ in range(n):
        following: dict[int, Counter[int]] = {}
        for placed, products in layer.items():
            ready = [i for i in range(n) if not placed >> i & 1 and not needed[i] & ~placed]
            for i in ready:
                following_products = following.setdefault(placed | 1 << i, Counter())
                for product, orders in products.items():
                    following_products[product * len(ready)] += orders
        layer = following
    products = layer[(1 << n) - 1]
    total = sum(products.values())
    return Departure(
        n_legal_orders=total,
        total_variation=sum(orders * abs(1 / product - 1 / total) for product, orders in products.items()) / 2,
        divergence=sum(orders / product * math.log(total / product) for product, orders in products.items()),
    )


class Spread(NamedTuple):
    """Total variation from uniform, over the blocks of one length that have several legal orders."""

    blocks: int
    dags: int  # distinct ones among them
    mean: float
    median: float
    largest: float
    divergence: float  # mean, nats


class Tally:
    """Distinct DAGs of blocks of at most `largest` instructions, and the number of blocks with each."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._blocks: Counter[tuple[int, bytes]] = Counter()

    def add(self, n_instructions: np.ndarray, offsets: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Add blocks: (B,) lengths, (B + 1,) offsets into before and after (E,), edges of the transitive reduction."""
        pairs = np.stack([before, after], 1).astype(np.uint8)
        for b in np.flatnonzero(n_instructions <= self._largest):
            self._blocks[int(n_instructions[b]), pairs[offsets[b] : offsets[b + 1]].tobytes()] += 1

    def spreads(self) -> dict[int, Spread]:
        """Spread by length, ascending, of lengths at which a block has several legal orders."""
        by_length: dict[int, list[tuple[float, int, float]]] = {}
        for (n, edges), blocks in sorted(self._blocks.items()):
            measured = departure(n, zip(edges[::2], edges[1::2], strict=True))
            if measured.n_legal_orders > 1:
                by_length.setdefault(n, []).append((measured.total_variation, blocks, measured.divergence))
        return {n: _spread(measured) for n, measured in sorted(by_length.items())}


def _spread(departures: list[tuple[float, int, float]]) -> Spread:
    """Of total variation, blocks and divergence of each DAG."""
    distance, blocks, divergence = np.array(sorted(departures, key=itemgetter(0))).T
    return Spread(
        blocks=int(blocks.sum()),
        dags=len(blocks),
        mean=float(np.average(distance, weights=blocks)),
        median=float(distance[np.searchsorted(np.cumsum(blocks), blocks.sum() / 2)]),
        largest=float(distance[-1]),
        divergence=float(np.average(divergence, weights=blocks)),
    )
