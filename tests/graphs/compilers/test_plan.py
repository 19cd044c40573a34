"""Plans of any levels are legal: an independent brute-force check on random groupings."""

from itertools import permutations

import numpy as np
import pytest

from learned_schedulers.graphs.compilers.levels import FUSED, LEVELS, levels_of, plan_of
from learned_schedulers.graphs.compilers.plan import MOST_OPERATIONS, NOT_WRITTEN, Plan, members, separate, violations
from tests.graphs.compilers.made import drawn, problem

pytestmark = pytest.mark.slow

GROUPINGS = 20_000


def test_groups_stay_convex_and_legal() -> None:
    """20,000 random groupings: a plan of levels is never cyclic by reachability, and breaks no rule."""
    rng = np.random.default_rng(22)
    joined = fused = checked = 0
    while checked < GROUPINGS:
        fusion = drawn(int(rng.integers(4, 10)), rng)
        children = [
            fusion.children[fusion.child_offsets[i] : fusion.child_offsets[i + 1]].tolist() for i in range(fusion.n)
        ]
        for _ in range(200):
            levels = rng.integers(0, LEVELS, fusion.n).astype(np.int8)
            levels[rng.random(fusion.n) < 0.5] = 3  # the same level, so that many kernels are joined
            plan = plan_of(fusion, levels)
            checked += 1
            results = (~plan.fused).sum()
            fused += int(plan.fused.any())
            if plan.kernels == results:
                continue  # one result each: nothing can be cyclic
            joined += 1
            roots = {
                k: {i for i in range(fusion.n) if plan.kernel[i] == k}
                for k in set(plan.kernel.tolist()) - {NOT_WRITTEN}
            }
            inside = members(fusion, plan)
            kernels = [frozenset(inside[k]) for k in roots]
            first_members = [roots[k] for k in roots]
            assert not _waits_in_a_circle(children, kernels, first_members)
            if joined % 20 == 0:
                assert violations(fusion, plan) == []
    assert joined > GROUPINGS / 10 and fused > GROUPINGS / 10


def _waits_in_a_circle(children: list[list[int]], kernels: list[frozenset[int]], roots: list[set[int]]) -> bool:
    """Whether kernels wait for each other; kernels run as long as one has all its inputs."""
    remaining = set(range(len(kernels)))
    while remaining:
        ready = [
            b
            for b in remaining
            if not any(child in kernels[b] for a in remaining - {b} for root in roots[a] for child in children[root])
        ]
        if not ready:
            return True
        remaining -= set(ready)
    return False


def test_random_groupings_are_refused_exactly_where_they_are_cyclic() -> None:
    """Only the rule of order, on groupings that need not be legal."""
    rng = np.random.default_rng(23)
    refused = 0
    for _ in range(3000):
        fusion = drawn(int(rng.integers(3, 7)), rng)
        labels = rng.integers(0, fusion.n, fusion.n)
        kernel = np.array([int(np.flatnonzero(labels == label)[0]) for label in labels])
        plan = Plan(kernel.astype(np.int64))
        children = [
            fusion.children[fusion.child_offsets[i] : fusion.child_offsets[i + 1]].tolist() for i in range(fusion.n)
        ]
        groups = [set(np.flatnonzero(kernel == k).tolist()) for k in np.unique(kernel)]
        sequences = (
            all(
                not any(child in sequence[a] for root in sequence[b] for child in children[root])
                for b in range(len(sequence))
                for a in range(b)
            )
            for sequence in permutations(groups)
        )
        possible = any(sequences)
        waits = any("wait for each other" in reason for reason in violations(fusion, plan))
        assert waits == (not possible)
        refused += waits
    assert refused > 100


CHAIN = (["add", "relu", "mul"], [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    ("kinds", "edges", "kernel", "reason"),
    [
        (["mm", "relu"], [(0, 1)], [-1, 1], "is library"),
        (["add"], [], [-1], "nothing reads it"),
        (["add", "mm"], [(0, 1)], [-1, 1], "no loop"),
        (["add", "relu"], [(0, 1)], [1, 1], "not numbered by the first"),
        (["mm", "relu"], [(0, 1)], [0, 0], "one of which is no loop"),
        (["add", "relu"], [], [0, 0], "nothing to do with each other"),
        (["sum", "relu"], [(0, 1)], [0, 0], "before it is complete"),
        (["add", "clone"], [(0, 1)], [0, 0], "before it is complete"),
        (["add", "relu", "exp", "clone"], [(0, 1), (1, 3), (0, 2)], [0, -1, 2, 0], "before it is complete"),
        (["add", "mm", "relu"], [(0, 1), (1, 2), (0, 2)], [0, 1, 0], "wait for each other"),
    ],
)
def test_what_is_not_legal_says_why(
    kinds: list[str], edges: list[tuple[int, int]], kernel: list[int], reason: str
) -> None:
    reasons = violations(problem(kinds, edges), Plan(np.array(kernel, np.int64)))
    assert any(reason in message for message in reasons), reasons


def test_results_of_loops_of_different_lengths_are_not_joined() -> None:
    fusion = problem(["add", "relu", "exp"], [(0, 1), (0, 2)], written=[4, 4, 8], flops=[1, 1, 2])
    assert any("different numbers" in reason for reason in violations(fusion, Plan(np.array([0, 1, 1]))))
    assert plan_of(fusion, np.array([0, 3, 3], np.int8)).kernels == 3


def test_a_chain_is_fused_into_its_end() -> None:
    fusion = problem(*CHAIN)
    assert plan_of(fusion, np.full(3, FUSED, np.int8)).kernel.tolist() == [-1, -1, 2]
    assert plan_of(fusion, np.zeros(3, np.int8)).kernel.tolist() == separate(3).kernel.tolist()


def test_kernels_of_different_levels_are_not_joined() -> None:
    fusion = problem(["add", "relu", "exp"], [(0, 1), (0, 2)])
    assert plan_of(fusion, np.array([0, 3, 3], np.int8)).kernel.tolist() == [0, 1, 1]
    assert plan_of(fusion, np.array([0, 3, 4], np.int8)).kernel.tolist() == [0, 1, 2]
    assert plan_of(fusion, np.array([3, 3, 3], np.int8)).kernel.tolist() == [0, 0, 0]


def test_the_higher_level_is_served_first_where_two_joins_exclude_each_other() -> None:
    """0 and 3 read x, 1 and 2 read y; mm 4 and 5 make the two pairs wait for each other."""
    kinds = ["mm", "mm", "add", "add", "mm", "mm", "relu", "relu"]
    edges = [(0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (1, 6), (5, 7), (0, 7)]
    fusion = problem(kinds, edges)
    first = plan_of(fusion, np.array([0, 0, 5, 4, 0, 0, 4, 5], np.int8))  # 2 with 7 before 3 with 6
    second = plan_of(fusion, np.array([0, 0, 4, 5, 0, 0, 5, 4], np.int8))
    assert first.kernel[7] == 2 and first.kernel[6] == 6
    assert second.kernel[6] == 3 and second.kernel[7] == 7


def test_a_kernel_has_at_most_so_many_operations() -> None:
    n = MOST_OPERATIONS + 10
    fusion = problem(["relu"] * n, [(i, i + 1) for i in range(n - 1)])
    plan = plan_of(fusion, np.full(n, LEVELS - 1, np.int8))
    assert max(len(inside) for inside in members(fusion, plan).values()) == MOST_OPERATIONS
    assert violations(fusion, plan) == []


def test_levels_of_a_plan_lead_to_the_plan() -> None:
    rng = np.random.default_rng(5)
    same = 0
    for _ in range(300):
        fusion = drawn(int(rng.integers(4, 30)), rng)
        plan = plan_of(fusion, rng.integers(0, LEVELS, fusion.n).astype(np.int8))
        again = plan_of(fusion, levels_of(fusion, plan))
        assert violations(fusion, again) == []
        same += bool((again.kernel == plan.kernel).all())
    assert same > 270  # except where nine levels are too few to distinguish the kernels
