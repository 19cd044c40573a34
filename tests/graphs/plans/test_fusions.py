"""What kernels of a plan do and save, and what the console says of them."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.graphs.compilers.cost import seconds
from pipeline.graphs.compilers.levels import LEVELS, plan_of
from pipeline.graphs.compilers.plan import NOT_WRITTEN, Plan, members, separate, violations
from pipeline.graphs.plans.fusion_summary import of_fusions, of_kernels, of_unknown
from pipeline.graphs.plans.fusions import best_of, best_rule, evaluations, fusions, kernels_of
from tests.graphs.compilers.made import drawn, problem


def test_kernels_are_the_plans_and_their_savings_add_up() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        given = drawn(25, rng)
        plan = plan_of(given, rng.integers(0, LEVELS, given.n).astype(np.int8))
        kernels, inside = kernels_of(given, plan), members(given, plan)
        assert {kernel.writes[0]: set(kernel.computes) for kernel in kernels} == inside
        assert sum(kernel.seconds for kernel in kernels) == pytest.approx(seconds(given, plan))
        saved = seconds(given, separate(given.n)) - seconds(given, plan)
        assert sum(kernel.saved_seconds for kernel in kernels) == pytest.approx(saved)
        stored: set[int] = set()
        for kernel in kernels:
            for i in kernel.computes:
                parents = given.parents[given.parent_offsets[i] : given.parent_offsets[i + 1]].tolist()
                assert set(parents) <= set(kernel.computes) | stored
            stored |= set(kernel.writes)


def test_what_two_kernels_compute_is_saved_in_equal_shares() -> None:
    """By hand: three launches of a second and 28 bytes of a second each; then two launches and 16 bytes."""
    given = problem(["relu", "add", "exp"], [(0, 1), (0, 2)], own_read=[4, 0, 0])
    assert seconds(given, separate(3)) == pytest.approx(3 + 24)
    kernels = kernels_of(given, Plan(np.array([NOT_WRITTEN, 1, 2])))
    assert [(kernel.computes, kernel.writes) for kernel in kernels] == [((0, 1), (1,)), ((0, 2), (2,))]
    assert [kernel.moved_bytes for kernel in kernels] == [8.0, 8.0]
    assert [kernel.saved_seconds for kernel in kernels] == pytest.approx([4.5, 4.5])  # (9 + 9 / 2) - 9
    assert [kernel.saved_bytes for kernel in kernels] == [4.0, 4.0]


def test_every_method_has_a_legal_plan_and_the_best_is_no_worse_than_a_rule() -> None:
    given = drawn(30, np.random.default_rng(2))
    tried = fusions(given, 0)
    assert [fusion.method for fusion in tried] == ["separate", "loop_fusion", "xla_2023", "priority_fusion", "go"]
    for fusion in tried:
        assert violations(given, fusion.plan) == [] and fusion.seconds == seconds(given, fusion.plan)
    assert best_of(tried).seconds <= best_rule(tried).seconds
    said = of_fusions(tried, given.n)
    assert said.count("<- best") == 1 and "1,000 plans" in said
    assert next(line for line in said.splitlines() if line.startswith(best_rule(tried).method)).split()[6] == "1.000"


def test_larger_graphs_have_fewer_plans() -> None:
    assert [evaluations(n) for n in (1, 3_000, 30_000, 10**6)] == [1000, 1000, 100, 40]


def test_kernels_that_save_most_come_first_and_the_last_line_holds_all() -> None:
    """Fourteen pairs, the later ones larger; an operation that is alone."""
    pairs = 14
    sizes = [4 * (1 + i // 2) for i in range(2 * pairs)] + [4]
    given = problem(["relu", "add"] * pairs + ["mm"], [(2 * i, 2 * i + 1) for i in range(pairs)], written=sizes)
    plan = Plan(np.array([i if i % 2 or i == 2 * pairs else NOT_WRITTEN for i in range(given.n)]))
    lines = of_kernels(kernels_of(given, plan), [f"operation {i}" for i in range(given.n)]).splitlines()
    assert len(lines) == 1 + 10 + 1 + 1
    assert lines[1].endswith("operation 26, operation 27 -> operation 27")
    assert lines[11].startswith("4 more") and lines[12].startswith("all")
    assert lines[12].endswith("kernels: 15, with several operations: 14")
    assert "nothing to fuse" in of_kernels(kernels_of(given, separate(given.n)), [""] * given.n)


def test_long_kernels_are_shortened() -> None:
    given = problem(["relu"] * 7, [(i, i + 1) for i in range(6)])
    plan = Plan(np.array([NOT_WRITTEN] * 6 + [6]))
    assert "0, 1, 2, 3 and 3 more -> 6" in of_kernels(kernels_of(given, plan), [str(i) for i in range(7)])


def test_kinds_without_a_loop_are_named() -> None:
    assert of_unknown(["add", "NonZero", "TopK", "NonZero"]).endswith("not known: NonZero, TopK")
    assert of_unknown(["add"]) == ""
