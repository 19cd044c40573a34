"""Search and its bounds against every legal order, on random processors that issue out of order."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.methods.on_machine.graph import closure
from learned_schedulers.blocks.methods.search import WALKS, improve
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import model
from tests.blocks.methods.made_up import optima, random_out_of_order_costs, random_precedes

MANY, SIZE = 12, 10  # processors, and blocks on each


def blocks(rng: np.random.Generator, n: int) -> tuple[Problems, model.Costs, np.ndarray]:
    """Blocks on a processor, and legal orders to begin with."""
    precedes = random_precedes(rng, n, SIZE)
    rows = np.zeros((SIZE, n), np.int32)
    problems = Problems(precedes, np.ones((SIZE, n), np.int16), precedes.astype(np.uint16), rows)
    first = np.stack([np.argsort(closure(dependencies).sum(0)) for dependencies in precedes]).astype(np.int16)
    return problems, random_out_of_order_costs(rng, n, SIZE), first


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_no_order_is_below_the_bound_and_none_better_than_the_optimum(n: int) -> None:
    rng, tightness, n_best = np.random.default_rng(n), [], 0
    for _ in range(MANY):
        problems, costs, order = blocks(rng, n)
        best = optima(costs, problems.precedes)
        cycles, bound = improve(problems, costs, order, WALKS.index("annealing"), 300, rng)
        assert (count_violations(problems.precedes, order) == 0).all()
        np.testing.assert_array_equal(cycles, model.makespans(costs, order[:, None])[:, 0])
        assert (cycles >= best).all()
        assert (bound <= best).all()
        tightness.append(bound.sum() / best.sum())
        n_best += (cycles == best).sum()
    assert np.mean(tightness) > 0.6, "the bound says little"
    assert n_best > 0.95 * MANY * SIZE


@pytest.mark.parametrize("walk", range(len(WALKS)))
def test_search_improves_what_it_begins_with(walk: int) -> None:
    problems, costs, order = blocks(np.random.default_rng(3), 12)
    before = model.makespans(costs, order[:, None])[:, 0]
    cycles = []
    for evaluations in (1, 20, 500):
        improved = order.copy()
        cycles.append(improve(problems, costs, improved, walk, evaluations, np.random.default_rng(0))[0])
    np.testing.assert_array_equal(cycles[0], before)
    assert (cycles[1] <= before).all() and (cycles[2] <= before).all()
    assert before.sum() > cycles[1].sum() > cycles[2].sum()
