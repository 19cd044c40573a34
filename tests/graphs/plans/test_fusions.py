"""Kernels of a plan: their work, their savings, and the console text about them."""

from __future__ import annotations

import numpy as np
import pytest

from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.levels import LEVELS, plan_of
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan, members, separate, violations
from learned_schedulers.graphs.plans.fusion_summary import fusions_text, kernels_text, unknown_kinds_text
from learned_schedulers.graphs.plans.fusions import best_of, best_rule, evaluations, fusions, kernels_of
from tests.graphs.compilers.made import drawn, problem


def test_kernels_are_the_plans_and_their_savings_add_up() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        case = drawn(25, rng)
        plan = plan_of(case, rng.integers(0, LEVELS, case.n).astype(np.int8))
        kernels, inside = kernels_of(case, plan), members(case, plan)
        assert {kernel.writes[0]: set(kernel.computes) for kernel in kernels} == inside
        assert sum(kernel.seconds for kernel in kernels) == pytest.approx(seconds(case, plan))
        saved = seconds(case, separate(case.n)) - seconds(case, plan)
        assert sum(kernel.saved_seconds for kernel in kernels) == pytest.approx(saved)
        stored: set[int] = set()
        for kernel in kernels:
            for i in kernel.computes:
                parents = case.parents[case.parent_offsets[i] : case.parent_offsets[i + 1]].tolist()
                assert set(parents) <= set(kernel.computes) | stored
            stored |= set(kernel.writes)


def test_what_two_kernels_compute_is_saved_in_equal_shares() -> None:
    """By hand: three launches of 1 s and 28 bytes of 1 s each; then two launches and 16 bytes."""
    case = problem(["relu", "add", "exp"], [(0, 1), (0, 2)], own_read=[4, 0, 0])
    assert seconds(case, separate(3)) == pytest.approx(3 + 24)
    kernels = kernels_of(case, Plan(np.array([NOT_WRITTEN, 1, 2])))
    assert [(kernel.computes, kernel.writes) for kernel in kernels] == [((0, 1), (1,)), ((0, 2), (2,))]
    assert [kernel.moved_bytes for kernel in kernels] == [8.0, 8.0]
    assert [kernel.saved_seconds for kernel in kernels] == pytest.approx([4.5, 4.5])  # (9 + 9 / 2) - 9
    assert [kernel.saved_bytes for kernel in kernels] == [4.0, 4.0]


def test_every_method_has_a_legal_plan_and_the_best_is_no_worse_than_a_rule() -> None:
    case = drawn(30, np.random.default_rng(2))
    results = fusions(case, 0)
    assert [fusion.method for fusion in results] == ["separate", "loop_fusion", "xla_2023", "priority_fusion", "go"]
    for fusion in results:
        assert violations(case, fusion.plan) == [] and fusion.seconds == seconds(case, fusion.plan)
    assert best_of(results).seconds <= best_rule(results).seconds
    text = fusions_text(results, case.n)
    assert text.count("<- best") == 1 and "1,000 plans" in text
    assert next(line for line in text.splitlines() if line.startswith(best_rule(results).method)).split()[6] == "1.000"


def test_larger_graphs_have_fewer_plans() -> None:
    assert [evaluations(n) for n in (1, 3_000, 30_000, 10**6)] == [1000, 1000, 100, 40]


def test_kernels_that_save_most_come_first_and_the_last_line_holds_all() -> None:
    """Fourteen pairs of ascending size, and a single operation."""
    pairs = 14
    sizes = [4 * (1 + i // 2) for i in range(2 * pairs)] + [4]
    case = problem(["relu", "add"] * pairs + ["mm"], [(2 * i, 2 * i + 1) for i in range(pairs)], written=sizes)
    plan = Plan(np.array([i if i % 2 or i == 2 * pairs else NOT_WRITTEN for i in range(case.n)]))
    lines = kernels_text(kernels_of(case, plan), [f"operation {i}" for i in range(case.n)]).splitlines()
    assert len(lines) == 1 + 10 + 1 + 1
    assert lines[1].endswith("operation 26, operation 27 -> operation 27")
    assert lines[11].startswith("4 more") and lines[12].startswith("all")
    assert lines[12].endswith("kernels: 15, with several operations: 14")
    assert "nothing to fuse" in kernels_text(kernels_of(case, separate(case.n)), [""] * case.n)


def test_long_kernels_are_shortened() -> None:
    case = problem(["relu"] * 7, [(i, i + 1) for i in range(6)])
    plan = Plan(np.array([NOT_WRITTEN] * 6 + [6]))
    assert "0, 1, 2, 3 and 3 more -> 6" in kernels_text(kernels_of(case, plan), [str(i) for i in range(7)])


def test_kinds_without_a_loop_are_named() -> None:
    assert unknown_kinds_text(["add", "NonZero", "TopK", "NonZero"]).endswith("unknown: NonZero, TopK")
    assert unknown_kinds_text(["add"]) == ""
