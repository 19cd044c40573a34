"""Each check of methods for graphs refuses a method that is wrong in just this, and passes one that is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learned_schedulers.conformance import graphs
from learned_schedulers.conformance.failures import failures_of
from learned_schedulers.conformance.graph_problems import WIDE, problems, small
from learned_schedulers.conformance.graphs import CHECKS, Candidate
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.rules.checking import faults
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import MethodSettings

Propose = Callable[[Problem, np.random.Generator, Budget], Any]


def one_device_each(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
    """The order of the graph, on the devices in turn and at random."""
    n, count = len(problem), min(10, budget.proposals)
    placements = rng.integers(0, problem.devices, (count, n), np.int32)
    placements[0] = np.arange(n) % problem.devices
    orders = np.tile(np.arange(n, dtype=np.int32), (count, 1))
    costs = Target((problem,)).seconds(orders, placements)
    best = np.minimum.accumulate(costs)
    points = np.arange(1, count + 1)
    return Proposals(orders, placements, stats={"evaluations": points, "best": best, "seconds": points * 1e-3})


def candidate(propose: Propose) -> Candidate:
    class Method:
        def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Any:
            return propose(problem, rng, budget)

    return Candidate(MethodSettings(method="tests"), lambda problem, target: Method(), Budget(20, 20))


def failed(of: Candidate) -> set[str]:
    return {name for name, check in CHECKS.items() if list(failures_of(check, of))}


def test_a_method_that_is_right_passes() -> None:
    assert failed(candidate(one_device_each)) == set()


def test_orders_that_are_none_are_refused() -> None:
    def backwards(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        proposals = one_device_each(problem, rng, budget)
        return Proposals(proposals.orders[:, ::-1].copy(), proposals.placements)

    assert "schedules_are_valid" in failed(candidate(backwards))


def test_too_many_proposals_are_refused() -> None:
    def many(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        return one_device_each(problem, rng, Budget(20))

    assert failed(candidate(many)) == {"budgets_are_kept"}


def test_evaluations_beyond_the_budget_are_counted() -> None:
    class Spends:
        def __init__(self, target: Target, count: int) -> None:
            self._target, self._count = target, count

        def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
            proposals = one_device_each(problem, rng, replace(budget, proposals=1))
            for _ in range(self._count):
                self._target.seconds(proposals.orders, proposals.placements)
            return proposals

    def spending(count: int) -> Candidate:
        settings = MethodSettings(method="tests")
        return Candidate(settings, lambda problem, target: Spends(target, count), Budget(20, 20))

    assert list(CHECKS["budgets_are_kept"](spending(20))) == []
    [failure] = CHECKS["budgets_are_kept"](spending(21))
    assert "it simulated 21 schedules by target.seconds; budget.evaluations allows 20" in failure.message


def test_draws_that_are_not_from_the_generator_are_refused() -> None:
    def own_draws(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        return one_device_each(problem, np.random.default_rng(), budget)

    assert failed(candidate(own_draws)) == {"same_seed_same_proposals"}


def test_a_bound_that_is_none_is_refused() -> None:
    def bold(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        proposals = one_device_each(problem, rng, budget)
        return Proposals(proposals.orders, proposals.placements, stats={"bound": np.float64(1e9)})

    assert failed(candidate(bold)) == {"nothing_beats_the_optimum"}


@pytest.mark.parametrize("bound", [np.float64(np.nan), np.array([1.0, np.nan]), "low", None])
def test_stats_that_are_no_numbers_are_refused(bound: Any) -> None:
    def unknown(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        proposals = one_device_each(problem, rng, budget)
        return Proposals(proposals.orders, proposals.placements, stats={"bound": bound})

    proposals = unknown(problems()[WIDE], np.random.default_rng(0), Budget(4))
    assert [fault.split(";")[1] for fault in faults(proposals, problems()[WIDE], Budget(4))] == [
        " they must be numbers, and not NaN"
    ]
    assert "schedules_are_valid" in failed(candidate(unknown))


def test_a_simulator_that_is_wrong_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check compares with brute force, so that a fault of ours would be seen as well."""
    monkeypatch.setattr(graphs, "optima", lambda: tuple((1e3, 1e3) for _ in small()))
    assert failed(candidate(one_device_each)) == {"nothing_beats_the_optimum"}


@pytest.mark.parametrize("change", ["one is missing", "rises", "ends above", "too many", "lengths"])
def test_a_curve_that_is_wrong_is_refused(change: str) -> None:
    def wrong(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        proposals = one_device_each(problem, rng, budget)
        stats = dict(proposals.stats)
        match change:
            case "one is missing":
                del stats["seconds"]
            case "rises":
                stats["best"] = stats["best"] - np.linspace(1.0, 0.0, len(stats["best"]))
            case "ends above":
                stats["best"] = stats["best"] + 1.0
            case "too many":
                stats["evaluations"] = stats["evaluations"] * 100
            case "lengths":
                stats["seconds"] = stats["seconds"][1:]
        return Proposals(proposals.orders, proposals.placements, stats=stats)

    assert failed(candidate(wrong)) == {"curves_fall_to_the_best"}


def test_a_method_that_ignores_the_memory_is_refused_and_one_that_refuses_is_not() -> None:
    def on_one(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        n = len(problem)
        return Proposals(np.arange(n, dtype=np.int32)[None], np.zeros((1, n), np.int32))

    def cautious(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        if np.isfinite(problem.memory):
            return Proposals.unsupported(len(problem), "limited memory")
        return on_one(problem, rng, budget)

    assert failed(candidate(on_one)) == {"memory_is_kept_or_refused"}
    assert failed(candidate(cautious)) == set()


def test_a_method_that_changes_its_problem_is_refused() -> None:
    def careless(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        problem.seconds[:] = 0
        return one_device_each(problem, rng, budget)

    for _ in range(2):
        [failure] = failures_of(CHECKS["schedules_are_valid"], candidate(careless))
        assert "read-only" in failure.message


def test_a_method_that_supports_nothing_is_refused() -> None:
    def nothing(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        return Proposals.unsupported(len(problem), "not today")

    [failure] = CHECKS["schedules_are_valid"](candidate(nothing))
    assert failure.message == "none is supported: not today; support some of them"


def test_an_error_is_a_failure_with_its_problem() -> None:
    def fragile(problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        return one_device_each(problem, rng, budget) if len(problem) else {}["nothing"]

    [failure] = failures_of(CHECKS["schedules_are_valid"], candidate(fragile))
    assert str(failure).startswith("no operation: it raised KeyError: 'nothing' (test_graph_checks.py:")
