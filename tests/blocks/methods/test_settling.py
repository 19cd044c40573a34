"""Orders that settle near a ranking are legal and no slower; they reach the ranking if it is legal and no slower."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.methods.on_machine.settling import settle
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import model
from tests.blocks.methods.made_up import random_costs, random_out_of_order_costs, random_problems

pytestmark = pytest.mark.slow

SIZE = 30
Draw = Callable[[np.random.Generator, int, int], model.Costs]


def blocks(rng: np.random.Generator, n: int) -> tuple[Problems, np.ndarray, np.ndarray]:
    """Blocks, legal orders of them, and further legal orders."""
    problems = random_problems(rng, n, SIZE)
    return problems, random_ready(problems.precedes, rng), random_ready(problems.precedes, rng)


def first_by(ranking: np.ndarray, order: np.ndarray) -> list[list[int]]:
    """Ranks in the sequence of each order: of two, the smaller list begins the better."""
    ranks: list[list[int]] = np.take_along_axis(np.argsort(ranking, 1), order.astype(np.int64), 1).tolist()
    return ranks


@pytest.mark.parametrize("draw", [random_costs, random_out_of_order_costs], ids=["in order", "reordering"])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_settled_orders_are_legal_nearer_and_no_slower(draw: Draw, n: int) -> None:
    rng, nearer = np.random.default_rng(n), 0
    for _ in range(6):
        problems, order, ranking = blocks(rng, n)
        costs, settled = draw(rng, n, SIZE), order.copy()
        cycles = settle(problems, costs, settled, ranking)
        assert (count_violations(problems.precedes, settled) == 0).all()
        before, after = model.makespans(costs, np.stack([order, settled], 1)).T
        assert (after <= before).all()
        np.testing.assert_array_equal(cycles, after)
        pairs = list(zip(first_by(ranking, order), first_by(ranking, settled), strict=True))
        assert all(now <= was for was, now in pairs)
        nearer += sum(now < was for was, now in pairs)
        again = settled.copy()
        settle(problems, costs, again, settled)
        np.testing.assert_array_equal(again, settled)
    assert nearer > 0 or n == 1


def test_where_no_order_is_slower_the_ranking_is_reached() -> None:
    rng = np.random.default_rng(0)
    problems, order, ranking = blocks(rng, 9)
    costs = random_costs(rng, 9, SIZE)._replace(
        latencies=np.ones((SIZE, 9), np.int32),
        micro_ops=np.ones((SIZE, 9), np.int32),
        delays=np.zeros((SIZE, 9, 9), np.int16),
        unit_cycles=np.zeros((SIZE, 9, 0), np.int32),
        choice=np.full((SIZE, 9), -1, np.int32),
        issue_width=1,
    )
    settle(problems, costs, order, ranking)
    np.testing.assert_array_equal(order, ranking)
