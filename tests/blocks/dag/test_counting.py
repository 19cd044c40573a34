"""Numbers of legal orders against brute force, families with known numbers and an independent bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learned_schedulers.blocks.dag.counting import SMALL, count_orders
from tests.blocks.dag.relations import chain, dags, disjoint_union, grid, legal_orders, ragged, zigzag

EULER = [1, 1, 1, 2, 5, 16, 61, 272, 1385, 7936, 50521, 353792, 2702765, 22368256]  # OEIS A000111


def exact_count(precedes: np.ndarray, **bound: int) -> float:
    counts, exact = count_orders(*ragged(precedes), **bound)
    assert exact.all()
    return float(counts[0])


@given(dags(7))
def test_equal_to_brute_force(precedes: np.ndarray) -> None:
    assert exact_count(precedes) == len(legal_orders(precedes))


@settings(max_examples=5)
@given(dags(8, smallest=8))
def test_equal_to_brute_force_of_eight(precedes: np.ndarray) -> None:
    assert exact_count(precedes) == len(legal_orders(precedes))


@given(st.lists(dags(6), min_size=1, max_size=5))
def test_many_blocks_have_the_counts_of_single_ones(matrices: list[np.ndarray]) -> None:
    counts, exact = count_orders(*ragged(*matrices))
    assert exact.all()
    assert counts.tolist() == [exact_count(matrix) for matrix in matrices]


@pytest.mark.parametrize("n", [1, 2, 7, 20, 64])
def test_independent_instructions_and_chains(n: int) -> None:
    assert exact_count(np.zeros((n, n), bool)) == pytest.approx(math.factorial(n), rel=1e-14)
    assert exact_count(chain(n)) == 1


@pytest.mark.parametrize("columns", [2, 5, 10, 20])
def test_two_rows_give_catalan_numbers(columns: int) -> None:
    assert exact_count(grid(2, columns)) == math.comb(2 * columns, columns) // (columns + 1)


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 6), (4, 5), (5, 6), (6, 6)])
def test_grids_obey_the_hook_length_formula(rows: int, columns: int) -> None:
    hooks = math.prod(i + j + 1 for i in range(rows) for j in range(columns))
    exact = math.factorial(rows * columns) // hooks
    assert exact_count(grid(rows, columns)) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("lengths", [(1, 2, 3), (5, 5, 5), (10, 20, 30), (2,) * 32])
def test_chains_side_by_side_give_multinomials(lengths: tuple[int, ...]) -> None:
    exact = math.factorial(sum(lengths)) // math.prod(map(math.factorial, lengths))
    assert exact_count(disjoint_union(*map(chain, lengths))) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("n", range(2, len(EULER)))
def test_zigzags_give_euler_numbers(n: int) -> None:
    assert exact_count(zigzag(n)) == EULER[n]


@pytest.mark.parametrize("n", [30, 64])
def test_long_zigzags(n: int) -> None:
    """Euler numbers from Entringer's triangle."""
    row = [1]
    for _ in range(n):
        row = list(np.cumsum([0, *reversed(row)], dtype=object))
    assert exact_count(zigzag(n)) == pytest.approx(float(row[-1]), rel=1e-12)


@given(dags(9), st.integers(0, 6))
def test_beyond_the_limit_the_count_is_a_lower_bound(precedes: np.ndarray, states: int) -> None:
    long = disjoint_union(precedes, zigzag(SMALL))  # too long for the exact count that short blocks always get
    exact = exact_count(precedes) * EULER_20 * math.comb(len(long), SMALL)
    counts, is_exact = count_orders(*ragged(long), states=states)
    assert 1 <= counts[0] <= exact * (1 + 1e-12)
    assert not is_exact[0]
    assert count_orders(*ragged(long))[0][0] == pytest.approx(exact, rel=1e-12)


EULER_20 = 370371188237525


def test_short_blocks_are_exact_for_every_limit() -> None:
    assert exact_count(zigzag(SMALL), states=0) == EULER_20


def test_bad_relations_are_refused() -> None:
    with pytest.raises(ValueError, match="block 1 have a cycle"):
        count_orders(*ragged(chain(2), ~np.eye(2, dtype=bool)))
    with pytest.raises(ValueError, match="65 instructions"):
        count_orders(*ragged(chain(65)))
    with pytest.raises(ValueError, match="outside its block"):
        count_orders(np.array([0, 1]), np.array([0]), np.array([2]), np.array([2]))
