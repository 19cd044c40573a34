"""Least pressure against all orders and a constraint solver; Sethi and Ullman's order is best for trees."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from ortools.sat.python import cp_model

from learned_schedulers.blocks.before_allocation.methods import METHODS, sethi_ullman
from learned_schedulers.blocks.before_allocation.methods.least_pressure import MOST, least
from learned_schedulers.blocks.before_allocation.pressure import excess, peak, pressure
from learned_schedulers.blocks.before_allocation.problem import Problem
from tests.blocks.before_allocation.random_problems import drawn, legal, tree

RNG = np.random.default_rng(0)


def _orders(problem: Problem) -> list[np.ndarray]:
    n = len(problem.leaves)
    return [order for each in permutations(range(n)) if legal(problem, order := np.array(each, np.int64))]


def _cost(problem: Problem, order: np.ndarray) -> tuple[int, int]:
    return excess(problem, order), int((pressure(problem, order) - np.array(problem.limits)).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_least_pressure_is_that_of_the_best_of_all_orders(seed: int) -> None:
    """Where registers are missing, and where only the peak counts because there are enough."""
    drawn_problem = drawn(4 + seed % 4, seed, enters=seed % 4, nearness=0.4)
    orders = _orders(drawn_problem)
    for limits in ((seed % 5, seed % 3), (20, 20)):
        problem = drawn_problem._replace(limits=limits)
        best = min(_cost(problem, order) for order in orders)
        answer = least(problem, RNG)
        assert answer.proven and (answer.excess, answer.peak) == best == _cost(problem, answer.order)


def _solved(problem: Problem) -> int:
    """The least excess by CP-SAT: which instruction stands in which slot, and which values are alive behind it."""
    n, model = len(problem.leaves), cp_model.CpModel()
    stands = [[model.new_bool_var("") for _ in range(n)] for _ in range(n)]  # [i][t]
    for k in range(n):
        model.add_exactly_one(stands[k])
        model.add_exactly_one(stands[i][k] for i in range(n))
    ran = [[sum(stands[i][: t + 1]) for t in range(n)] for i in range(n)]  # by the end of slot t
    for i, k in np.argwhere(problem.precedes).tolist():
        for t in range(n):
            model.add(ran[k][t] <= (ran[i][t - 1] if t else 0))
    values, beyond = problem.values, []
    readers: list[list[int]] = [[] for _ in values.stays]
    for i in range(n):
        for v in values.reads.items[values.reads.offsets[i] : values.reads.offsets[i + 1]].tolist():
            readers[v].append(i)
    for t in range(n):
        alive: dict[int, list[cp_model.LinearExpr]] = {1: [], 2: []}
        for v, kind in enumerate(values.classes.tolist()):
            if not kind:
                continue
            lives = model.new_bool_var("")
            begun = ran[v][t] if v < n else 1
            for i in readers[v]:
                model.add(lives >= begun - ran[i][t])
            if values.stays[v]:
                model.add(lives >= begun)
            if v < n:
                model.add(lives >= stands[v][t])
            alive[kind].append(lives * int(values.registers[v]))
        for kind, limit in zip((1, 2), problem.limits, strict=True):
            beyond.append(model.new_int_var(0, 1000, ""))
            model.add(beyond[-1] >= sum(alive[kind]) - limit)
    model.minimize(sum(beyond))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return int(solver.objective_value)


@pytest.mark.parametrize("seed", range(6))
def test_least_pressure_is_that_of_a_constraint_solver(seed: int) -> None:
    problem = drawn(9 + seed % 4, 100 + seed, enters=3, nearness=0.3)._replace(limits=(2 + seed % 2, 2))
    answer = least(problem, RNG)
    assert answer.proven and answer.excess == _solved(problem)


def test_least_pressure_says_where_it_proves_nothing() -> None:
    wide = drawn(MOST, 5, enters=0, nearness=0.05)._replace(limits=(3, 3))
    few, more = least(wide, RNG, sets=3), least(wide, RNG, sets=3000)
    assert not few.proven and more.excess <= few.excess
    assert legal(wide, few.order) and _cost(wide, few.order) == (few.excess, few.peak)
    long = drawn(MOST + 1, 5)
    assert not least(long, RNG).proven


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_no_method_has_less_than_the_least(seed: int) -> None:
    problem = drawn(24, seed, nearness=0.2)._replace(limits=(3, 3))
    answer = least(problem, RNG, sets=1 << 17)
    costs = {name: excess(problem, method(problem, np.random.default_rng(0))) for name, method in METHODS.items()}
    assert answer.proven and answer.excess <= min(costs.values()) and answer.excess < costs["random_legal"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_sethi_and_ullman_need_the_fewest_registers_for_trees(seed: int) -> None:
    problem = tree(5 + seed % 4, seed)
    fewest = min(int(peak(problem, order)[0]) for order in _orders(problem))
    assert int(peak(problem, sethi_ullman.order(problem, RNG))[0]) == fewest
    assert sethi_ullman.numbers(problem)[0][-1] == fewest


def test_frigos_halves_keep_a_transform_in_few_registers() -> None:
    """Butterflies of 64 values: levels after one another keep all alive, halves hardly more than half."""
    size, levels = 64, 6
    n = size * levels
    operands = [
        [(row - 1) * size + k for k in (c, c ^ (1 << (row - 1)))] if row else []
        for row in range(levels)
        for c in range(size)
    ]
    precedes = np.zeros((n, n), bool)
    for i, each in enumerate(operands):
        precedes[each, i] = True
    nothing = np.zeros(n, bool)
    results = [(2, 1)] * (n - size) + [(0, 0)] * size
    problem = Problem.of(
        precedes, operands, [[]] * n, results, [], np.zeros(0, bool), nothing, nothing, np.zeros(n, np.int64)
    )
    halves, levelwise = METHODS["recursive_halves"](problem, RNG), METHODS["input_order"](problem, RNG)
    assert excess(problem, halves) < 0.9 * excess(problem, levelwise)
