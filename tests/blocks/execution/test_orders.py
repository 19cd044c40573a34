from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.blocks.execution.legal_orders import draw


@st.composite
def predecessors(draw_: st.DrawFn, longest: int) -> list[int]:
    n = draw_(st.integers(1, longest))
    return [draw_(st.integers(0, (1 << i) - 1)) for i in range(n)]


def is_legal(order: tuple[int, ...], predecessor_sets: list[int]) -> bool:
    slot = {i: t for t, i in enumerate(order)}
    return all(slot[i] < slot[k] for k in slot for i in slot if predecessor_sets[k] >> i & 1)


@given(predecessors(12), st.integers(1, 20), st.integers(0, 99))
def test_orders_are_legal_distinct_and_new(predecessor_sets: list[int], count: int, seed: int) -> None:
    orders = draw(predecessor_sets, count, np.random.default_rng(seed))
    assert all(
        sorted(order) == list(range(len(predecessor_sets))) and is_legal(order, predecessor_sets) for order in orders
    )
    assert len(set(orders)) == len(orders) <= count
    assert tuple(range(len(predecessor_sets))) not in orders
    assert orders == draw(predecessor_sets, count, np.random.default_rng(seed))


@given(predecessors(5))
def test_few_orders_are_all_drawn(predecessor_sets: list[int]) -> None:
    all_legal = {order for order in permutations(range(len(predecessor_sets))) if is_legal(order, predecessor_sets)}
    orders = draw(predecessor_sets, 200, np.random.default_rng(0))
    assert set(orders) == all_legal - {tuple(range(len(predecessor_sets)))}


def test_a_sample_contains_the_most_reordered_one() -> None:
    orders = draw([0] * 20, 5, np.random.default_rng(0))
    assert tuple(reversed(range(20))) in orders
    assert len(orders) == 5
