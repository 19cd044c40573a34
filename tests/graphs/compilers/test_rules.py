"""Compilers' rules on cases worked out by hand, and the best of all plans against every possible grouping."""

from itertools import product

import numpy as np
import pytest

from learned_schedulers.graphs.compilers import loop_fusion, priority_fusion, xla_2023
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.optimum import MOST_CHOICES, Unsupported, optimum
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan, violations
from learned_schedulers.graphs.compilers.rates import Rates
from tests.graphs.compilers.made import drawn, problem

RULES = (loop_fusion.plan_of, xla_2023.plan_of, priority_fusion.plan_of)
DEAR = Rates(1.0, 0.0, 1.0, 1.0, 1e9, 0.01, 1e9, 1e9, 1e9)  # an exponential takes 100 launches


def kernels(fusion: FusionProblem) -> list[list[int]]:
    return [rule(fusion).kernel.tolist() for rule in RULES]


@pytest.mark.slow
def test_a_chain_is_one_kernel() -> None:
    assert kernels(problem(["add", "relu", "mul"], [(0, 1), (1, 2)])) == [[-1, -1, 2]] * 3


def test_products_are_fused_with_nothing() -> None:
    assert kernels(problem(["add", "mm", "relu"], [(0, 1), (1, 2)])) == [[0, 1, 2]] * 3


def test_a_reduction_ends_a_kernel() -> None:
    assert kernels(problem(["exp", "sum", "relu"], [(0, 1), (1, 2)])) == [[-1, 1, 2]] * 3


def test_what_is_cheap_is_computed_again_for_every_reader() -> None:
    """The inputs of two products read an addition; in loop fusion every kernel has one result."""
    fusion = problem(["mm", "add", "relu", "mul", "mm", "mm"], [(0, 1), (1, 2), (1, 3), (2, 4), (3, 5)])
    assert loop_fusion.plan_of(fusion).kernel.tolist() == [0, -1, 2, 3, 4, 5]
    assert xla_2023.plan_of(fusion).kernel.tolist() == [0, -1, 2, 2, 4, 5]  # and its readers are siblings


def test_what_is_expensive_is_not_computed_twice() -> None:
    """The exponential is stored; multi-output fusion joins it with the readers."""
    fusion = problem(["exp", "relu", "mul", "mm", "mm"], [(0, 1), (0, 2), (1, 3), (2, 4)], DEAR)
    assert loop_fusion.plan_of(fusion).kernel.tolist() == [0, 1, 2, 3, 4]
    assert xla_2023.plan_of(fusion).kernel.tolist() == [0, 0, 0, 3, 4]
    assert priority_fusion.plan_of(fusion).kernel.tolist() == [0, 0, 0, 3, 4]


def test_priority_fusion_computes_twice_what_saves_time() -> None:
    """Two exponentials cost less than storing one and reading it twice: 4 + 8 bytes and a launch."""
    slow = Rates(1.0, 0.0, 1.0, 1.0, 1e9, 0.2, 1e9, 1e9, 1e9)
    fusion = problem(["exp", "relu", "mul", "mm", "mm"], [(0, 1), (0, 2), (1, 3), (2, 4)], slow)
    assert priority_fusion.plan_of(fusion).kernel[0] == NOT_WRITTEN
    assert xla_2023.plan_of(fusion).kernel[0] != NOT_WRITTEN


def test_the_merger_fuses_a_kernel_where_traffic_does_not_grow() -> None:
    """relu(exp) has two readers: instruction fusion fuses the cheap relu into both of them.

    The exponential itself has one reader after that of each kernel, and stays stored, as computing it twice is dear.
    """
    fusion = problem(["exp", "relu", "sum", "sum"], [(0, 1), (1, 2), (1, 3)], DEAR)
    assert loop_fusion.plan_of(fusion).kernel.tolist() == [-1, -1, 2, 3]
    assert xla_2023.plan_of(fusion).kernel[0] != NOT_WRITTEN


def test_siblings_are_joined_where_their_loops_are_alike() -> None:
    fusion = problem(["mm", "sum", "sum", "relu"], [(0, 1), (0, 2), (0, 3)], flops=[1, 1, 1, 2], written=[4, 4, 4, 8])
    assert loop_fusion.plan_of(fusion).kernel.tolist() == [0, 1, 2, 3]
    assert xla_2023.plan_of(fusion).kernel.tolist() == [0, 1, 1, 3]
    assert priority_fusion.plan_of(fusion).kernel.tolist() == [0, 1, 1, 3]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_legal(rule: object) -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        fusion = drawn(int(rng.integers(2, 40)), rng)
        assert violations(fusion, rule(fusion)) == []


def every_plan(fusion: FusionProblem) -> list[Plan]:
    """All legal plans: each operation is fused, or written by a kernel whose first result is it or an earlier one."""
    plans = []
    for kernel in product(*([NOT_WRITTEN, *range(i + 1)] for i in range(fusion.n))):
        plan = Plan(np.array(kernel, np.int64))
        if all(kernel[k] == k for k in set(kernel) - {NOT_WRITTEN}) and not violations(fusion, plan):
            plans.append(plan)
    return plans


@pytest.mark.slow
def test_the_optimum_is_the_best_of_every_grouping() -> None:
    rng = np.random.default_rng(2)
    better = 0
    for _ in range(60):
        fusion = drawn(int(rng.integers(2, 6)), rng, Rates(1.0, 0.0, 1.0, 1.0, 0.5, 0.1, 1.0, 1.0, 1.0))
        least = min(seconds(fusion, plan) for plan in every_plan(fusion))
        best = optimum(fusion)
        assert violations(fusion, best) == []
        assert seconds(fusion, best) == pytest.approx(least)
        better += least < min(seconds(fusion, rule(fusion)) for rule in RULES) * (1 - 1e-9)
    assert better > 0  # otherwise the test shows nothing


def test_too_many_plans_are_not_looked_at() -> None:
    n = MOST_CHOICES + 2
    with pytest.raises(Unsupported, match="at most"):
        optimum(problem(["relu"] * n, [(i, i + 1) for i in range(n - 1)]))
