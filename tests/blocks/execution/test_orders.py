from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.blocks.execution.legal_orders import draw


@st.composite
def predecessors(draw_: st.DrawFn, longest: int) -> list[int]:
    n = draw_(st.integers(1, longest))
    return [draw_(st.integers(0, (1 << i) - 1)) for i in range(n)]


def legal(order: tuple[int, ...], needed: list[int]) -> bool:
    slot = {i: t for t, i in enumerate(order)}
    return all(slot[i] < slot[k] for k in slot for i in slot if needed[k] >> i & 1)


@given(predecessors(12), st.integers(1, 20), st.integers(0, 99))
def test_orders_are_legal_distinct_and_new(needed: list[int], count: int, seed: int) -> None:
    found = draw(needed, count, np.random.default_rng(seed))
    assert all(sorted(order) == list(range(len(needed))) and legal(order, needed) for order in found)
    assert len(set(found)) == len(found) <= count
    assert tuple(range(len(needed))) not in found
    assert found == draw(needed, count, np.random.default_rng(seed))


@given(predecessors(5))
def test_few_orders_are_all_there(needed: list[int]) -> None:
    everything = {order for order in permutations(range(len(needed))) if legal(order, needed)}
    found = draw(needed, 200, np.random.default_rng(0))
    assert set(found) == everything - {tuple(range(len(needed)))}


def test_among_many_are_the_most_reordered() -> None:
    found = draw([0] * 20, 5, np.random.default_rng(0))
    assert tuple(reversed(range(20))) in found
    assert len(found) == 5
