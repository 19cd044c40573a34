"""Devices and links that differ: the simulator, HEFT's own example, exact answers, and who knows such devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learned_schedulers.conformance.exhaustive import shortest
from learned_schedulers.graphs.devices.completion import Completion, Decisions, Lead, earliest_finish, upward_ranks
from learned_schedulers.graphs.devices.evaluation import evaluated
from learned_schedulers.graphs.devices.simulator import makespans, peaks, starts
from learned_schedulers.graphs.devices.targets import Target, proxy
from learned_schedulers.graphs.devices.timeline import timeline
from learned_schedulers.graphs.environment.single import ScheduleEnv
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, make, methods
from learned_schedulers.graphs.methods.one_device import fastest
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.plans.best import chosen, trial_of, trials
from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
from learned_schedulers.method_settings import entry
from tests.graphs.devices import oracle
from tests.graphs.problems import drawn

# Topcuoglu, Hariri & Wu 2002, figure 2 and table 1: seconds on three processors, and (from, to): transfer.
SECONDS = [
    *([14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10]),
    *([13, 16, 9], [7, 15, 11], [5, 11, 14], [18, 12, 20], [21, 7, 16]),
]
TRANSFERS = {
    **{(1, 2): 18, (1, 3): 12, (1, 4): 9, (1, 5): 11, (1, 6): 14, (2, 8): 19, (2, 9): 16, (3, 7): 23},
    **{(4, 8): 27, (4, 9): 23, (5, 9): 13, (6, 8): 15, (7, 10): 17, (8, 10): 11, (9, 10): 13},
}
RANKS = [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]  # table 2
ORDER = [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]
DEVICES = {1: 3, 2: 1, 3: 3, 4: 2, 5: 3, 6: 2, 7: 3, 8: 1, 9: 2, 10: 2}  # figure 3, processors from 1 on
ENDS = {1: 9, 2: 40, 3: 28, 4: 26, 5: 38, 6: 42, 7: 49, 8: 62, 9: 68, 10: 80}


def of_the_paper(to_parts: float) -> tuple[Problem, np.ndarray]:
    """The example, and the number of each task; a task's transfers differ by edge, ours by result.

    So each edge is an operation that takes no time, behind its task, to which the task's result takes `to_parts`.
    """
    rows = [(task, 0) for task in ORDER] + [(task, child) for task, child in TRANSFERS]
    rows.sort(key=lambda row: (ORDER.index(row[0]), row[1]))
    numbers = {row: i for i, row in enumerate(rows)}
    pairs = sorted(
        pair
        for (task, child), i in numbers.items()
        if child
        for pair in ((numbers[task, 0], i), (i, numbers[child, 0]))
    )
    sources, targets = np.array(pairs, np.int32).T
    offsets = np.r_[0, np.cumsum(np.bincount(sources, minlength=len(rows)))].astype(np.int32)
    seconds = np.array([[0, 0, 0] if child else SECONDS[task - 1] for task, child in rows], float)
    sizes = np.array([TRANSFERS[task, child] if child else to_parts for task, child in rows], float)
    problem = Problem(seconds, sizes, Edges(offsets, targets), 3, Transfers(slope=1.0))
    return problem, np.array([numbers[task, 0] for task in range(1, 11)])


def test_ranks_and_schedule_of_hefts_own_example() -> None:
    problem, tasks = of_the_paper(0.0)
    assert upward_ranks(problem)[tasks] == pytest.approx(RANKS, abs=1e-3)
    problem, tasks = of_the_paper(1e4)  # parts stay where their task is
    n = len(problem)
    schedule = Completion(problem, Lead(1 - np.arange(n) / n, np.zeros(n)))(Decisions.open(n))
    assert (schedule.placements[0, tasks] + 1).tolist() == list(DEVICES.values())
    assert schedule.ends[0, tasks].tolist() == list(ENDS.values()) and schedule.seconds.tolist() == [80.0]


def problems(seed: int, count: int = 12, most: int = 20) -> list[Problem]:
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(count):
        problem = drawn.problem(rng, int(rng.integers(1, most)), int(rng.integers(1, 5)), float(rng.random()))
        results.append(drawn.unequal(drawn.with_sharing(problem, rng), rng))
    return results


@pytest.mark.parametrize("seed", range(3))
def test_as_the_oracle_on_random_schedules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for problem in problems(seed):
        orders, placements = drawn.schedules(problem, rng, 4)
        together = evaluated(problem, orders, placements)
        assert together.seconds.tolist() == makespans(problem, orders, placements).tolist()
        for order, placement, makespan, most in zip(orders, placements, together.seconds, together.peaks, strict=True):
            assert makespan == pytest.approx(max(oracle.ends(problem, order, placement).values()), rel=1e-12)
            assert makespan >= problem.bound * (1 - 1e-12)
            assert most == pytest.approx(oracle.peaks(problem, order, placement))
            assert peaks(problem, order, placement) == pytest.approx(most)
            times = timeline(problem, order, placement)
            assert times.makespan == pytest.approx(makespan)
            assert (times.begins == starts(problem, order, placement)).all()


@pytest.mark.parametrize("seed", range(4))
def test_equal_columns_are_equal_devices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = drawn.with_sharing(drawn.problem(rng, 18, 3 + seed % 2, 0.2), rng)
    if seed % 2:
        problem = replace(problem, memory=0.7 * float(problem.weights.sum() + problem.parts.sizes.sum()))
    m, links = problem.devices, problem.transfers
    same = replace(
        problem,
        seconds=np.tile(problem.seconds[:, None], m),
        transfers=Transfers(np.full((m, m), links.slope), np.full((m, m), links.delay)),
        memory=np.full(m, problem.memory) if np.isfinite(problem.memory) else np.inf,
    )
    assert not same.equal and problem.equal and same.bound == pytest.approx(problem.bound)
    for before, after in zip(trials(problem, seed, moves=200), trials(same, seed, moves=200), strict=True):
        assert (before.method, before.seconds) == (after.method, after.seconds)
        if before.order is not None:
            assert (before.order == after.order).all() and (before.placement == after.placement).all()


@pytest.mark.parametrize("seed", range(6))
def test_exact_answers(seed: int) -> None:
    """One more device never makes the best answer longer; no search is below it, and it is not below the bound."""
    rng = np.random.default_rng(seed)
    problem = drawn.unequal(drawn.problem(rng, 4 + seed % 2, 3, 0.4), rng)
    least, of_two = shortest(problem), shortest(problem.only([0, 1]))
    assert problem.bound * (1 - 1e-12) <= least <= of_two
    results = trials(problem, seed, moves=2000)
    assert chosen(results).seconds == pytest.approx(least, rel=0.05)
    assert min(trial.seconds for trial in results) >= least * (1 - 1e-12)
    assert makespans(problem.only([2, 0, 1]), *_moved(results[0], [1, 2, 0]))[0] == results[0].seconds


def _moved(trial: Any, numbers: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """A schedule with other numbers of its devices."""
    return trial.order[None], np.array(numbers, np.int32)[trial.placement][None]


def test_each_device_has_its_own_memory() -> None:
    """The last device alone has room for everything."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        problem = drawn.unequal(drawn.problem(rng, 14, 3, 0.2), rng)
        whole = float(problem.weights.sum() + problem.sizes.sum())
        limited = replace(problem, memory=whole * np.array([0.3, 0.4, 0.9]))
        best = chosen(trials(limited, 0, moves=200))
        assert (peaks(limited, best.order, best.placement) <= limited.memory).all()
        device, has_room = fastest(limited)
        assert has_room and device == 2
        only_last = replace(problem, memory=np.array([0.0, 0.0, whole]))
        assert set(Completion(only_last)(Decisions.open(14)).placements[0].tolist()) == {2}
    impossible = trial_of(replace(problem, memory=np.array([0.0, 0.0, 0.1])), "one_device", rng)
    assert impossible.order is None and "the largest device has 1e-10 GB" in impossible.message


def test_operations_go_where_they_are_fast() -> None:
    """Two operations, each fast on a device of its own."""
    apart = Edges(np.zeros(3, np.int32), np.zeros(0, np.int32))
    problem = Problem(np.array([[9.0, 1.0], [1.0, 9.0]]), np.ones(2), apart, 2)
    assert problem.bound == 1.0 and problem.totals.tolist() == [10.0, 10.0]
    assert earliest_finish(problem)[0].tolist() == by_critical_path(problem)[1].tolist() == [1, 0]


KNOWING = {
    "annealing",
    "contiguous",
    "heft",
    "list_scheduling",
    "local_search",
    "one_device",
    "random_valid",
    "randomised_list",
}
OF_NETWORKS = {"gflownet", "ppo", "expert"}  # what they need is not here


@pytest.mark.parametrize("method", sorted({*methods()} - OF_NETWORKS))
def test_methods_that_know_equal_devices_alone_say_so(method: str) -> None:
    rng = np.random.default_rng(0)
    problem = replace(drawn.unequal(drawn.problem(rng, 6, 3), rng), device_names=("h100.0", "h100.1", "t4.0"))
    settings = entry("graph", method)
    proposals = make(settings, {"target": Target((problem,))}).propose(proxy(problem).mean, rng, Budget(proposals=5))
    if method in KNOWING:
        assert (makespans(problem, proposals.orders, proposals.placements) > 0).all() and len(proposals.orders)
    else:
        assert proposals.status == UNSUPPORTED
        assert proposals.message == f"devices or links differ; {method} knows equal ones alone"


def test_policies_say_so_too() -> None:
    problem = drawn.unequal(drawn.problem(np.random.default_rng(0), 6, 2), np.random.default_rng(0))
    assert "gflownet knows equal ones alone" in trial_of(problem, "gflownet", np.random.default_rng(0)).message
    with pytest.raises(ValueError, match="devices or links differ; an environment"):
        ScheduleEnv(problem)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seconds": np.ones((3, 3))}, r"seconds is an array \(3, 3\)"),
        ({"seconds": np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])}, "operation 1 has -1.0 seconds on device 1"),
        ({"memory": np.ones(3)}, r"memory is an array \(3,\); of 2 devices it must be \(2,\), or a number"),
        ({"memory": np.array([1.0, np.inf])}, "memory of device 1 is inf; it must be finite"),
        ({"transfers": Transfers(np.ones((2, 3)))}, r"transfers.slope is an array \(2, 3\)"),
        (
            {"transfers": Transfers(0.0, np.array([[0.0, -2.0], [1.0, 0.0]]))},
            "transfers.delay of device 0 to 1 is -2.0",
        ),
        ({"device_names": ("h100.0",)}, "1 device_names of 2 devices"),
    ],
)
def test_bad_devices_are_named(changed: dict[str, Any], message: str) -> None:
    edges = Edges(np.zeros(4, np.int32), np.zeros(0, np.int32))
    with pytest.raises(ValueError, match=message):
        replace(Problem(np.ones((3, 2)), np.ones(3), edges, 2), **changed)
