"""Bounds, CP-SAT and search against every legal order, on random processors, in order and not."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.methods.on_machine import constraints
from learned_schedulers.blocks.methods.on_machine.bounds import root_bound
from learned_schedulers.blocks.methods.on_machine.graph import closure, graph
from learned_schedulers.blocks.methods.search import WALKS, improve
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors import model
from learned_schedulers.blocks.processors.in_order import block_of, simulate
from tests.blocks.methods.made_up import (
    optima,
    random_costs,
    random_out_of_order_costs,
    random_precedes,
    random_problems,
)

pytestmark = pytest.mark.slow

MANY = 60
CHIPS, SIZE = 12, 10  # that issue out of order, and blocks on each


def test_cp_sat_bounds_every_order_from_below() -> None:
    """CP-SAT proves optimality, and finds orders that are better than the given one, if there are any."""
    rng, n_better, proofs = np.random.default_rng(5), 0, 0
    for _ in range(MANY):
        costs, precedes = random_costs(rng, 5), random_precedes(rng, 5)
        block, relations = block_of(costs, 0), graph(block_of(costs, 0), precedes[0])
        best, root = optima(costs, precedes)[0], root_bound(block, relations)
        first = np.argsort(relations.reach.sum(0)).astype(np.int16)
        cycles = simulate(costs, first[None, None]).makespan[0, 0]
        if cycles == root:
            continue
        answer = constraints.solve(block, relations, root, cycles, 1.0, 0)
        assert answer.bound <= best
        proofs += answer.bound == best
        if answer.order is not None:
            assert count_violations(precedes, answer.order[None])[0] == 0
            n_better += simulate(costs, answer.order[None, None]).makespan[0, 0] < cycles
    assert n_better > 0
    assert proofs > MANY // 4


def reordering(rng: np.random.Generator, n: int) -> tuple[Problems, model.Costs, np.ndarray]:
    """Blocks on a processor that issues out of order, and legal orders to begin with."""
    problems = random_problems(rng, n, SIZE)
    first = np.stack([np.argsort(closure(dependencies).sum(0)) for dependencies in problems.precedes]).astype(np.int16)
    return problems, random_out_of_order_costs(rng, n, SIZE), first


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_no_order_is_below_the_bound_and_none_better_than_the_optimum(n: int) -> None:
    rng, tightness, n_best = np.random.default_rng(n), [], 0
    for _ in range(CHIPS):
        problems, costs, order = reordering(rng, n)
        best = optima(costs, problems.precedes)
        cycles, bound = improve(problems, costs, order, WALKS.index("annealing"), 300, rng)
        assert (count_violations(problems.precedes, order) == 0).all()
        np.testing.assert_array_equal(cycles, model.makespans(costs, order[:, None])[:, 0])
        assert (cycles >= best).all()
        assert (bound <= best).all()
        tightness.append(bound.sum() / best.sum())
        n_best += (cycles == best).sum()
    assert np.mean(tightness) > 0.6, "the bound says little"
    assert n_best > 0.95 * CHIPS * SIZE


@pytest.mark.parametrize("walk", range(len(WALKS)))
def test_search_improves_what_it_begins_with(walk: int) -> None:
    problems, costs, order = reordering(np.random.default_rng(3), 12)
    before = model.makespans(costs, order[:, None])[:, 0]
    cycles = []
    for evaluations in (1, 20, 500):
        improved = order.copy()
        cycles.append(improve(problems, costs, improved, walk, evaluations, np.random.default_rng(0))[0])
    np.testing.assert_array_equal(cycles[0], before)
    assert (cycles[1] <= before).all() and (cycles[2] <= before).all()
    assert before.sum() > cycles[1].sum() > cycles[2].sum()
