"""Distances from uniform, compared with the definition, order by order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from pipeline.corpus.uniformity import Tally, departure
from tests.blocks.dag.relations import chain, dags, disjoint_union, legal_orders, ragged


def probability(precedes: np.ndarray, order: tuple[int, ...]) -> float:
    """Probability of an order under `random_ready`: all predecessors of an instruction are in earlier slots."""
    product = 1.0
    for slot, chosen in enumerate(order):
        placed = set(order[:slot])
        ready = [
            i for i in range(len(order)) if i not in placed and set(np.flatnonzero(precedes[:, i]).tolist()) <= placed
        ]
        assert chosen in ready
        product /= len(ready)
    return product


@given(dags(6))
def test_departure_is_the_definition(precedes: np.ndarray) -> None:
    orders = legal_orders(precedes)
    probabilities = np.array([probability(precedes, order) for order in orders])
    assert probabilities.sum() == pytest.approx(1)
    distances = departure(len(precedes), zip(*map(np.ndarray.tolist, precedes.nonzero()), strict=True))
    assert distances.n_legal_orders == len(orders)
    assert distances.total_variation == pytest.approx(abs(probabilities - 1 / len(orders)).sum() / 2, abs=1e-12)
    entropy = -(probabilities * np.log(probabilities)).sum()
    assert distances.divergence == pytest.approx(math.log(len(orders)) - entropy, abs=1e-12)


def test_two_chains_by_hand() -> None:
    """DAG 0 < 1, and 2: orders 012, 021, 201 have probabilities 1/4, 1/4 and 1/2."""
    distances = departure(3, [(0, 1)])
    assert distances.total_variation == pytest.approx((abs(1 / 4 - 1 / 3) * 2 + abs(1 / 2 - 1 / 3)) / 2)


def test_a_tally_weighs_dags_by_their_blocks() -> None:
    lopsided, free, single, long = disjoint_union(chain(2), chain(1)), np.zeros((3, 3), bool), chain(3), chain(5)
    offsets, before, after, lengths = ragged(lopsided, free, free, free, single, long)
    tally = Tally(4)
    for _ in range(2):  # as two pieces
        tally.add(lengths, offsets, before, after)
    ((length, spread),) = tally.spreads().items()  # neither of one order nor too long
    assert (length, spread.blocks, spread.dags) == (3, 8, 2)
    assert spread.largest == pytest.approx(1 / 6)
    assert spread.mean == pytest.approx(1 / 24)
    assert spread.median == 0
