"""The shared rules against plain Python, and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from learned_schedulers.graphs.devices.completion import earliest_finish
from learned_schedulers.graphs.devices.limits import limited
from learned_schedulers.graphs.devices.ordering import by_times, ordered
from learned_schedulers.graphs.devices.simulator import makespans, peaks, starts
from learned_schedulers.graphs.method_settings import Ties
from learned_schedulers.graphs.methods.contiguous import split
from learned_schedulers.graphs.methods.rules.listing import TIES, listed
from learned_schedulers.graphs.methods.rules.proposing import curve
from learned_schedulers.graphs.methods.rules.repair import fits, repaired
from learned_schedulers.graphs.methods.rules.squeeze import squeezed
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from tests.graphs.problems import drawn


def parents(problem: Problem, i: int) -> list[int]:
    return problem.parents.targets[problem.parents.offsets[i] : problem.parents.offsets[i + 1]].tolist()


def slow_list(problem: Problem, priorities: np.ndarray, m: int, ties: Ties) -> tuple[list[int], list[int]]:
    """Of the operations whose parents are scheduled, and all devices, the pair that can start first; ties as stated."""
    order: list[int] = []
    ends: dict[int, float] = {}
    placement, free, now = [0] * len(problem), [0.0] * m, 0.0
    while len(order) < len(problem):
        ready = [i for i in range(len(problem)) if i not in ends and set(parents(problem, i)) <= set(ends)]
        release = {i: max((ends[p] for p in parents(problem, i)), default=0.0) for i in ready}
        now = max(now, min(free), min(release.values()))
        i = min((i for i in ready if release[i] <= now), key=lambda i: (-priorities[i], i))
        of_parents = [placement[p] for p in parents(problem, i)]
        ranks = {"lowest": range(m), "longest_idle": free, "parents": [-of_parents.count(d) for d in range(m)]}
        placement[i] = min((d for d in range(m) if free[d] <= now), key=ranks[ties].__getitem__)
        free[placement[i]] = ends[i] = now + float(problem.seconds[i])
        order.append(i)
    return order, placement


def slow_order(problem: Problem, placement: np.ndarray) -> list[int]:
    """The same with transfers, for a given placement."""
    ends: dict[int, float] = {}
    free = [0.0] * problem.devices
    while len(ends) < len(problem):
        start = {}
        for i in (i for i in range(len(problem)) if i not in ends and set(parents(problem, i)) <= set(ends)):
            delays = problem.transfers.slope * problem.sizes + problem.transfers.delay
            arrive = [ends[p] + delays[p] * (placement[p] != placement[i]) for p in parents(problem, i)]
            start[i] = max(arrive + [free[placement[i]]])
        i = min(start, key=lambda i: (start[i], placement[i], -problem.tails[i], i))
        free[placement[i]] = ends[i] = start[i] + float(problem.seconds[i])
    return list(ends)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("seed", range(3))
def test_list_scheduling_is_the_rule_that_it_says(seed: int, ties: Ties) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 30, 4, 0.1 * seed)
    problem = replace(problem, seconds=np.round(problem.seconds * 4))  # whole times, so that there are ties
    priorities, devices = np.round(rng.random((6, 30)), 1), np.array([1, 2, 3, 4, 2, 3])
    orders, placements = listed(problem, priorities, devices, ties)
    for s in range(6):
        assert (orders[s].tolist(), placements[s].tolist()) == slow_list(problem, priorities[s], devices[s], ties)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_a_placement_is_the_rule_that_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.problem(rng, 30, 4, 0.1 * seed)
    problem = replace(problem, seconds=np.ceil(problem.seconds * 4), transfers=Transfers(0.0, float(seed)))
    placements = rng.integers(0, 4, (5, 30))
    orders = ordered(problem, placements)
    for order, placement in zip(orders, placements, strict=True):
        assert order.tolist() == slow_order(problem, placement)


def test_heft_inserts_between_and_counts_transfers() -> None:
    """0 -> 1 with a transfer of 3 s stay together, and 2 goes to the other device. The second graph leaves a gap."""
    problem = Problem(
        seconds=np.array([2.0, 4.0, 3.0]),
        sizes=np.ones(3),
        children=Edges(np.array([0, 1, 1, 1], np.int32), np.array([1], np.int32)),
        devices=2,
        transfers=Transfers(delay=3.0),
    )
    placement, begins = earliest_finish(problem)
    assert placement.tolist() == [0, 0, 1] and begins.tolist() == [0.0, 2.0, 0.0]
    # 0 and 1 (ranks 9 and 8) go to devices 0 and 1; 2 needs both and waits for the transfer of 1;
    # 3 is too long for the gap before it, 4 is not.
    gap = Problem(
        seconds=np.array([2.0, 1.0, 4.0, 2.5, 1.5]),
        sizes=np.ones(5),
        children=Edges(np.array([0, 1, 2, 2, 2, 2], np.int32), np.array([2, 2], np.int32)),
        devices=2,
        transfers=Transfers(delay=3.0),
    )
    placement, begins = earliest_finish(gap)
    assert placement.tolist() == [0, 1, 0, 1, 0] and begins.tolist() == [0.0, 0.0, 4.0, 1.0, 2.0]


@pytest.mark.parametrize("seed", range(5))
def test_heft_takes_no_longer_than_it_says(seed: int) -> None:
    """Its times are those of a schedule, which the simulator may start earlier, but never later."""
    problem = drawn.problem(np.random.default_rng(seed), 60, 4, 0.05 * seed)
    placement, begins = earliest_finish(problem)
    order = by_times(begins, begins + problem.seconds)
    assert (starts(problem, order, placement) <= begins + 1e-9).all()


def slow_heft(problem: Problem) -> tuple[list[int], list[float]]:
    """The same by lists of the runs of each device, from the first gap on."""
    delays = problem.transfers.slope * problem.sizes + problem.transfers.delay
    ranks = problem.seconds.copy()
    for i in reversed(range(len(problem))):
        behind = [ranks[child] for child in range(len(problem)) if i in parents(problem, child)]
        ranks[i] += max(behind, default=-delays[i]) + delays[i]
    runs: list[list[tuple[float, float]]] = [[] for _ in range(problem.devices)]
    placement, starts = [0] * len(problem), [0.0] * len(problem)
    for i in sorted(range(len(problem)), key=lambda i: (-ranks[i], i)):
        options = []
        for device in range(problem.devices):
            arrive = [
                starts[p] + problem.seconds[p] + delays[p] * (placement[p] != device) for p in parents(problem, i)
            ]
            start = max(arrive, default=0.0)
            for begin, end in runs[device]:
                if start + problem.seconds[i] <= begin:
                    break
                start = max(start, end)
            options.append((start + problem.seconds[i], device, start))
        end, placement[i], starts[i] = min(options)
        runs[placement[i]] = sorted([*runs[placement[i]], (starts[i], end)])
    return placement, starts


@pytest.mark.parametrize("seed", range(6))
def test_heft_is_the_rule_that_it_says(seed: int) -> None:
    """On whole times, where sums have no rounding."""
    problem = drawn.problem(np.random.default_rng(seed), 50, 3, 0.05 * seed)
    whole = replace(
        problem,
        seconds=np.ceil(problem.seconds * 8) + 1,
        sizes=np.ceil(problem.sizes * 3),
        transfers=Transfers(2.0, 1.0),
    )
    placement, begins = earliest_finish(whole)
    assert (placement.tolist(), begins.tolist()) == slow_heft(whole)


@pytest.mark.parametrize("seed", range(6))
def test_a_squeezed_placement_fits_and_keeps_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = limited(drawn.problem(rng, 60, 4, 0.1))
    placement, groups = np.zeros(60, np.int32), np.arange(60) // 2
    schedule = squeezed(problem, placement, rng, groups)
    assert schedule is not None and fits(problem, *schedule)
    assert (schedule[1][::2] == schedule[1][1::2]).all()  # groups stay together
    assert np.isfinite(makespans(problem, *(part[None] for part in schedule))).all()


def test_nothing_is_squeezed_into_less_than_one_operation_needs() -> None:
    problem = drawn.problem(np.random.default_rng(0), 20, 3, 0.1)
    tiny = replace(problem, memory=0.5 * float((problem.weights + problem.sizes).max()))
    assert squeezed(tiny, np.zeros(20, np.int32), np.random.default_rng(0)) is None


def test_a_repaired_placement_fits_and_one_that_fits_stays() -> None:
    rng = np.random.default_rng(3)
    repairs = 0
    for _ in range(30):
        problem = drawn.problem(rng, 20, 3, 0.2)
        order, placement = ordered(problem, np.zeros((1, 20), int))[0], np.zeros(20, np.int32)
        tight = replace(problem, memory=0.7 * float(peaks(problem, order, placement).max()))
        assert not fits(tight, order, placement)
        if (schedule := repaired(tight, placement)) is not None:
            repairs += 1
            assert (peaks(tight, *schedule) <= tight.memory).all()
            assert repaired(tight, schedule[1])[1].tolist() == schedule[1].tolist()
    assert repairs >= 25


def test_a_split_is_contiguous_and_balanced() -> None:
    problem = replace(drawn.problem(np.random.default_rng(0), 60, 4, 0.1), seconds=np.ones(60))
    sequence = np.random.default_rng(1).permutation(60)
    parts = split(problem, sequence)[sequence]
    assert (np.diff(parts) >= 0).all() and np.bincount(parts).tolist() == [15] * 4
    assert split(replace(problem, seconds=np.zeros(60)), sequence).max() == 3


def test_the_curve_by_hand() -> None:
    points = curve(np.array([5.0, 6.0, 4.0, 4.0, 3.0]), 10.0)
    assert points["evaluations"].tolist() == [1, 3, 5] and points["best"].tolist() == [5.0, 4.0, 3.0]
    assert points["seconds"].tolist() == [2.0, 6.0, 10.0]


def test_a_long_chain_of_80_000_operations_and_a_wide_one() -> None:
    """Every rule stays about linear: these take a fraction of a second, and (n, n) would take 51 GB."""
    n = 80_000
    unit_times = np.ones(n)
    deep = Edges(np.r_[np.arange(n), n - 1].astype(np.int32), np.arange(1, n, dtype=np.int32))
    wide = Edges(np.r_[0, np.full(n, n - 1)].astype(np.int32), np.arange(1, n, dtype=np.int32))
    for edges, makespan in ((deep, n), (wide, 1 + -(-(n - 1) // 4))):
        problem = Problem(unit_times, unit_times, edges, 4)
        orders, placements = listed(problem, problem.tails[None], np.array([4]))
        assert makespans(problem, orders, placements)[0] == makespan
        placement, begins = earliest_finish(problem)
        assert (begins + unit_times).max() == makespan
        assert makespans(problem, ordered(problem, placement[None]), placement[None])[0] == makespan
