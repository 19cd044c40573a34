import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.lab import metrics

orders = st.integers(1, 8).flatmap(lambda n: st.permutations(range(n))).map(lambda p: np.array([p], np.int16))


def pairs_that_disagree(order: list[int]) -> int:
    """Kendall tau distance by definition: share of pairs of instructions that the two orders rank differently."""
    slot = {instruction: t for t, instruction in enumerate(order)}
    n = len(order)
    return sum((slot[a] - slot[b]) * (a - b) < 0 for a in range(n) for b in range(a + 1, n))


@given(orders)
def test_kendall_tau_by_all_pairs(order: np.ndarray) -> None:
    n = order.shape[1]
    expected = pairs_that_disagree(order[0].tolist()) / (n * (n - 1) / 2) if n > 1 else 0
    assert metrics.kendall_tau_distance(order)[0] == pytest.approx(expected)


@given(orders)
def test_only_gcc_is_an_exact_match(order: np.ndarray) -> None:
    exact = metrics.exact_match(order)[0] == 1
    assert exact == (metrics.kendall_tau_distance(order)[0] == 0) == (metrics.slot_accuracy(order)[0] == 1)


def test_slot_accuracy_by_hand() -> None:
    assert metrics.slot_accuracy(np.array([[0, 2, 1, 3, 4], [4, 0, 1, 2, 3]])).tolist() == [0.6, 0]


def frames(*rows: tuple[list[int], str, list[tuple[int, int]], int, float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Schedules and DAGs of blocks given as (order, status, edges, n_instructions, n_legal_orders)."""
    schedules = pd.DataFrame({"order": [np.array(r[0], np.int16) for r in rows], "status": [r[1] for r in rows]})
    dags = pd.DataFrame(
        {
            "n_instructions": [r[3] for r in rows],
            "before": [np.array([a for a, _ in r[2]], np.int16) for r in rows],
            "after": [np.array([b for _, b in r[2]], np.int16) for r in rows],
            "n_legal_orders": [r[4] for r in rows],
        }
    )
    return schedules, dags


def test_blocks_of_several_lengths_by_hand() -> None:
    values = metrics.per_block(
        *frames(
            ([0, 1, 2], "ok", [(0, 2)], 3, 3.0),
            ([2, 1, 0, 3], "violates", [(0, 1), (1, 2), (2, 3)], 4, 1.0),
            ([1, 0, 2], "ok", [], 3, 6.0),
        )
    )
    assert values["exact_match"].tolist() == [1, 0, 0]
    assert values["exact_match_multi_order"].tolist()[::2] == [1, 0]
    assert np.isnan(values["exact_match_multi_order"][1])
    assert values["slot_accuracy"] == pytest.approx([1, 0.5, 1 / 3])
    assert values["kendall_tau_distance"] == pytest.approx([0, 3 / 6, 1 / 3])
    assert values["violations_per_block"].tolist() == [0, 2, 0]
    assert values["valid_share"].tolist() == [1, 0, 1]


def test_block_without_an_order_counts_as_wrong_and_has_no_distance() -> None:
    values = metrics.per_block(*frames(([], "timed out", [], 3, 6.0), ([0, 1, 2], "ok", [], 3, 6.0)))
    assert values["exact_match"].tolist() == [0, 1] and values["valid_share"].tolist() == [0, 1]
    assert np.isnan(values["kendall_tau_distance"]).tolist() == [True, False]
    assert np.isnan(values["violations_per_block"]).tolist() == [True, False]


def test_order_of_a_late_schedule_is_not_valid() -> None:
    values = metrics.per_block(*frames(([0, 1], "timed out", [], 2, 2.0)))
    assert values["exact_match"].tolist() == [1] and values["valid_share"].tolist() == [0]


@pytest.mark.parametrize("order", [[0, 0, 1], [0, 1], [1, 2, 3]])
def test_no_permutation_is_refused(order: list[int]) -> None:
    with pytest.raises(ValueError, match="no order"):
        metrics.per_block(*frames((order, "ok", [], 3, 6.0)))


def test_ok_with_a_violation_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        metrics.per_block(*frames(([1, 0], "ok", [(0, 1)], 2, 1.0)))
