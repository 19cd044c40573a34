"""The learned order is legal and repeatable, its features say what their names say, and search by it gets better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.before_allocation.learned_search import POPULATION, Costs, Orders, Weights, read, search
from learned_schedulers.blocks.before_allocation.policy import FEATURES, PARTS, follow
from learned_schedulers.blocks.before_allocation.problem import Problem
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.learning import weights as files
from tests.blocks.before_allocation.random_problems import chain, drawn, excess, legal


def weights(**of_features: float) -> np.ndarray:
    """Weights that are the same whatever is short, 0 for the features that are not named."""
    matrix = np.zeros((PARTS, len(FEATURES)))
    for name, weight in of_features.items():
        matrix[0, FEATURES.index(name)] = weight
    return matrix


def untrained() -> Weights:
    """Weights that nothing was learned for: the order of the program, and equal spreads."""
    centre = weights(overdue=0.7)
    return Weights(centre, np.full(centre.shape, 0.5))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60))
def test_orders_are_legal_and_repeat(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn(n, seed)
    drawn_weights = rng.normal(size=(PARTS, len(FEATURES)))
    order = follow(problem, drawn_weights)
    assert legal(problem, order) and np.array_equal(order, follow(problem, drawn_weights))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_order_of_the_program_is_among_them(seed: int, n: int) -> None:
    problem = drawn(n, seed)
    assert np.array_equal(follow(problem, weights(overdue=1.0)), np.arange(n))


def test_freeing_registers_lowers_the_pressure() -> None:
    """Over forty blocks, an order that frees registers needs fewer than one that avoids it."""
    sums = np.zeros(2)
    for seed in range(40):
        problem = drawn(60, seed)._replace(limits=(4, 4))
        for side, sign in enumerate((1.0, -1.0)):
            names = dict.fromkeys(("frees_general", "frees_vector"), sign)
            names |= dict.fromkeys(("needs_general", "needs_vector"), -sign)
            sums[side] += excess(problem, follow(problem, weights(**names)))
    assert sums[0] < 0.7 * sums[1]


def _excesses(problem: Problem) -> Costs:
    return lambda orders: np.array([excess(problem, order) for order in orders], float)


def test_search_counts_and_repeats_its_evaluations() -> None:
    problem = drawn(80, 5)._replace(limits=(3, 3))
    judged: list[bytes] = []

    def costs_of(orders: Orders) -> np.ndarray:
        judged.extend(order.tobytes() for order in orders)
        return _excesses(problem)(orders)

    first, again = (search(problem, costs_of, 100, np.random.default_rng(1), POPULATION, untrained()) for _ in range(2))
    assert len(judged) == 200 and len(set(judged)) == 100  # none is judged twice within a search
    assert np.array_equal(first.order, again.order) and first.cost == excess(problem, first.order)
    assert first.costs == sorted(first.costs, reverse=True) and len(first.costs) == 100
    assert first.cost < first.costs[0]


def test_the_centre_is_tried_first() -> None:
    problem = drawn(60, 3)
    centre = np.random.default_rng(3).normal(size=(PARTS, len(FEATURES)))
    batches: list[Orders] = []

    def costs_of(orders: Orders) -> np.ndarray:
        batches.append(orders)
        return _excesses(problem)(orders)

    search(problem, costs_of, 30, np.random.default_rng(0), POPULATION, Weights(centre, untrained().spread))
    assert [order.tolist() for order in batches[0]] == [follow(problem, centre).tolist()]


@pytest.mark.parametrize("evaluations", [1, 2, POPULATION, POPULATION + 1, 40])
def test_small_budgets(evaluations: int) -> None:
    problem = drawn(50, 7)._replace(limits=(3, 3))
    improved = search(problem, _excesses(problem), evaluations, np.random.default_rng(0), POPULATION, untrained())
    assert len(improved.costs) == evaluations


def test_a_block_with_a_single_order_ends_the_search() -> None:
    problem = chain(30)
    assert len(search(problem, _excesses(problem), 1000, np.random.default_rng(0), POPULATION, untrained()).costs) == 1


def test_search_beats_random_orders() -> None:
    """At equal numbers of orders, on each of five blocks."""
    for seed in range(5):
        problem = drawn(100, seed)._replace(limits=(4, 4))
        rng = np.random.default_rng(seed)
        at_random = min(excess(problem, random_ready(problem.precedes[None], rng)[0]) for _ in range(64))
        assert search(problem, _excesses(problem), 64, rng, POPULATION, untrained()).cost < at_random


def test_files_of_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    drawn_weights = Weights(rng.normal(size=(PARTS, len(FEATURES))), rng.normal(size=(PARTS, len(FEATURES))))
    files.write(tmp_path / "w.safetensors", "before_allocation", " ".join(FEATURES), drawn_weights._asdict())
    assert all(map(np.array_equal, read(tmp_path / "w.safetensors"), drawn_weights))
    files.write(tmp_path / "old.safetensors", "before_allocation", "overdue", drawn_weights._asdict())
    with pytest.raises(ValueError, match="weights of other features; train it again"):
        read(tmp_path / "old.safetensors")
    assert read().centre.shape == untrained().centre.shape  # the shipped ones fit this version
