"""Bounds, branch and bound and CP-SAT against every legal order, on random processors."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.methods.on_machine import branching, constraints
from learned_schedulers.blocks.methods.on_machine.bounds import root_bound
from learned_schedulers.blocks.methods.on_machine.graph import graph
from learned_schedulers.blocks.processors.in_order import block_of, simulate
from tests.blocks.methods.made_up import optima, random_costs, random_precedes

MANY = 60


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_branch_and_bound_finds_the_optimum_and_bounds_hold(n: int) -> None:
    rng, visited, tight = np.random.default_rng(n), branching.visited_states(1 << 14), 0
    for _ in range(MANY):
        costs, precedes = random_costs(rng, n), random_precedes(rng, n)
        best = optima(costs, precedes)[0]
        block, relations = block_of(costs, 0), graph(block_of(costs, 0), precedes[0])
        root = root_bound(block, relations)
        assert root <= best
        tight += root == best
        order = np.argsort(relations.reach.sum(0)).astype(np.int16)
        cycles, bound, _ = branching.branch_and_bound(block, relations, order, 1 << 14, visited)
        assert cycles == bound == best
        assert simulate(costs, order[None, None]).makespan[0, 0] == best
    assert tight > 0, "the bound says nothing"


def test_branch_and_bound_that_is_cut_off_proves_nothing_false() -> None:
    rng, n_open = np.random.default_rng(0), 0
    visited = branching.visited_states(8)
    for _ in range(MANY):
        costs, precedes = random_costs(rng, 6), random_precedes(rng, 6)
        block, relations = block_of(costs, 0), graph(block_of(costs, 0), precedes[0])
        order = np.argsort(relations.reach.sum(0)).astype(np.int16)
        cycles, bound, _ = branching.branch_and_bound(block, relations, order, 8, visited)
        best = optima(costs, precedes)[0]
        assert bound <= best <= cycles
        n_open += cycles > bound
    assert n_open > 0, "nothing was cut off"


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
