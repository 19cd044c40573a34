"""Bounds, branch and bound and CP-SAT against every legal order, on random processors."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.blocks.dag.topology import count_violations
from pipeline.blocks.latency.in_order import simulate
from pipeline.blocks.schedulers.on_machine import branching, constraints
from pipeline.blocks.schedulers.on_machine.bounds import root_bound
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from tests.blocks.schedulers.made_up import optima, random_costs, random_precedes

MANY = 60


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_branch_and_bound_finds_the_optimum_and_bounds_hold(n: int) -> None:
    rng, known, tight = np.random.default_rng(n), branching.seen(1 << 14), 0
    for _ in range(MANY):
        costs, precedes = random_costs(rng, n), random_precedes(rng, n)
        best = optima(costs, precedes)[0]
        block, found = block_of(costs, 0), graph(block_of(costs, 0), precedes[0])
        root = root_bound(block, found)
        assert root <= best
        tight += root == best
        order = np.argsort(found.reach.sum(0)).astype(np.int16)
        cycles, bound, _ = branching.branch_and_bound(block, found, order, 1 << 14, known)
        assert cycles == bound == best
        assert simulate(costs, order[None, None]).makespan[0, 0] == best
    assert tight > 0, "the bound says nothing"


def test_branch_and_bound_that_is_cut_off_proves_nothing_false() -> None:
    rng, open_ = np.random.default_rng(0), 0
    known = branching.seen(8)
    for _ in range(MANY):
        costs, precedes = random_costs(rng, 6), random_precedes(rng, 6)
        block, found = block_of(costs, 0), graph(block_of(costs, 0), precedes[0])
        order = np.argsort(found.reach.sum(0)).astype(np.int16)
        cycles, bound, _ = branching.branch_and_bound(block, found, order, 8, known)
        best = optima(costs, precedes)[0]
        assert bound <= best <= cycles
        open_ += cycles > bound
    assert open_ > 0, "nothing was cut off"


def test_cp_sat_bounds_every_order_from_below() -> None:
    """Proofs of optimality, and orders that are better than the one it is given, where there are any."""
    rng, found_better, proofs = np.random.default_rng(5), 0, 0
    for _ in range(MANY):
        costs, precedes = random_costs(rng, 5), random_precedes(rng, 5)
        block, known = block_of(costs, 0), graph(block_of(costs, 0), precedes[0])
        best, root = optima(costs, precedes)[0], root_bound(block, known)
        first = np.argsort(known.reach.sum(0)).astype(np.int16)
        cycles = simulate(costs, first[None, None]).makespan[0, 0]
        if cycles == root:
            continue
        found = constraints.solve(block, known, root, cycles, 1.0, 0)
        assert found.bound <= best
        proofs += found.bound == best
        if found.order is not None:
            assert count_violations(precedes, found.order[None])[0] == 0
            found_better += simulate(costs, found.order[None, None]).makespan[0, 0] < cycles
    assert found_better > 0
    assert proofs > MANY // 4
