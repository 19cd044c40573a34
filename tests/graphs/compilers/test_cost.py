"""Costs worked out by hand, and by a second implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.graphs.compilers.cost import kernel_costs, kernel_seconds, seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import LEVELS, plan_of
from learned_schedulers.graphs.compilers.plan import Plan, members, separate
from learned_schedulers.graphs.compilers.rates import Rates, frozen_rates
from tests.graphs.compilers.made import UNIT, drawn, problem

pytestmark = pytest.mark.slow


def slowly(fusion: FusionProblem, plan: Plan, rates: Rates) -> float:
    """A literal implementation of the docstring of cost.py."""
    total = 0.0
    for kernel, inside in members(fusion, plan).items():
        arithmetic = sum(fusion.computing[i] for i in inside)
        moved = sum(fusion.own_read[i] for i in inside) + sum(
            fusion.written[i] for i in inside if plan.kernel[i] == kernel
        )
        read: dict[int, float] = {}
        for i in inside:
            for edge in range(fusion.parent_offsets[i], fusion.parent_offsets[i + 1]):
                parent = int(fusion.parents[edge])
                if not plan.fused[parent] and plan.kernel[parent] != kernel:
                    read[parent] = max(read.get(parent, 0.0), float(fusion.parent_bytes[edge]))
        moved += sum(read.values())
        if arithmetic or moved:
            total += rates.launch_seconds + max(arithmetic, rates.moving(moved))
    return total


@given(st.integers(0, 10_000), st.integers(1, 25))
def test_the_compiled_cost_is_the_one_in_words(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rates = Rates(1.0, 10.0, 2.0, 1.0, 1.0, 0.5, 3.0, 2.0, 5.0)
    fusion = drawn(n, rng, rates)
    plan = plan_of(fusion, rng.integers(0, LEVELS, n).astype(np.int8))
    assert seconds(fusion, plan) == pytest.approx(slowly(fusion, plan, rates))


def test_a_chain_saves_launches_and_traffic() -> None:
    fusion = problem(["add", "relu", "mul"], [(0, 1), (1, 2)], own_read=[8, 0, 0])
    assert seconds(fusion, separate(3)) == pytest.approx(3 + (8 + 4) + (4 + 4) + (4 + 4))
    assert seconds(fusion, Plan(np.array([-1, -1, 2]))) == pytest.approx(1 + 8 + 4)


def test_what_is_fused_into_two_kernels_is_computed_twice() -> None:
    rates = Rates(1.0, 0.0, 1e9, 1e9, 1.0, 0.1, 1.0, 1.0, 1.0)  # arithmetic alone
    fusion = problem(["exp", "mm", "relu", "relu"], [(0, 2), (0, 3)], rates)
    stored = seconds(fusion, separate(4))
    assert seconds(fusion, Plan(np.array([-1, 1, 2, 3]))) == pytest.approx(stored - 1 - 10 + 20)


def test_siblings_read_what_they_share_once() -> None:
    fusion = problem(["mm", "relu", "add"], [(0, 1), (0, 2)])
    apart, together = kernel_costs(fusion, separate(3)), kernel_costs(fusion, Plan(np.array([0, 1, 1])))
    assert apart[2].tolist() == [4, 8, 8] and together[2].tolist() == [4, 12, 0]


def test_a_view_of_a_part_reads_a_part() -> None:
    """The reader reads half of what its parent wrote."""
    from learned_schedulers.graphs.compilers.fusion_problem import fusion_problem
    from learned_schedulers.graphs.read.graph import Operations, graph

    listed = Operations(["mm", "relu"], np.ones(2), np.array([0, 8]), np.array([16, 8]), np.zeros(2, np.int64))
    fusion = fusion_problem(graph("g", "f", "v", listed, np.array([0]), np.array([1]))[0], UNIT)
    assert fusion.parent_bytes.tolist() == [8] and fusion.own_read.tolist() == [0, 0]


def test_states_that_are_handed_over_cost_nothing() -> None:
    fusion = problem(["carried_in", "relu"], [(0, 1)], written=[0, 4], flops=[0, 1])
    assert kernel_seconds(fusion, separate(2)).tolist() == [0, 5]


def test_the_memory_counts_beyond_the_cache() -> None:
    rates = Rates(0.0, 100.0, 10.0, 1.0, 1e9, 1e9, 1e9, 1e9, 1e9)
    assert rates.moving(50) == 5 and rates.moving(150) == 10 + 50


def test_the_frozen_rates_are_those_of_a_machine() -> None:
    rates = frozen_rates()
    assert 1e-7 < rates.launch_seconds < 1e-4
    assert rates.cache_bytes_per_second > rates.memory_bytes_per_second > 1e9
    assert rates.simple_per_second > rates.expensive_per_second
