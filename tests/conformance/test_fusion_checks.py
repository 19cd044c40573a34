"""Each check of methods of fusion refuses a method that is wrong in just this, and passes one that is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learned_schedulers.conformance import fusion
from learned_schedulers.conformance.failures import failures_of
from learned_schedulers.conformance.fusion import CHECKS, Candidate
from learned_schedulers.conformance.fusion_problems import small
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import LEVELS, plan_of
from learned_schedulers.graphs.compilers.plan import Plan, separate
from learned_schedulers.graphs.methods.fusing import Fusion, fusion_of
from learned_schedulers.graphs.models.fusing.joint import Machine
from learned_schedulers.methods import Unsupported

pytestmark = pytest.mark.slow

Fuse = Callable[[FusionProblem, np.random.Generator, Machine | None], Any]


def right(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
    """A plan of random levels."""
    plan = plan_of(problem, rng.integers(0, LEVELS, problem.n).astype(np.int8))
    return fusion_of(problem, plan, np.array([seconds(problem, plan)]), machine)


def failed(fuse: Fuse) -> dict[str, str]:
    class Method:
        def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Any:
            return fuse(problem, rng, machine)

    failures = {name: list(failures_of(check, Candidate(Method))) for name, check in CHECKS.items()}
    return {name: "; ".join(map(str, wrong)) for name, wrong in failures.items() if wrong}


def test_a_method_that_is_right_passes() -> None:
    assert failed(right) == {}


def test_methods_for_one_device_or_several_alone_pass_and_for_none_do_not() -> None:
    def for_one(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        if machine is not None:
            raise Unsupported("one device only")
        return right(problem, rng, machine)

    def for_several(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        if machine is None:
            raise Unsupported("several devices only")
        return right(problem, rng, machine)

    def for_none(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        raise Unsupported("not today")

    assert failed(for_one) == failed(for_several) == {}
    assert "none is supported: not today; support some of them" in failed(for_none)["plans_are_valid"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda n: np.arange(n, dtype=np.int32), "plan.kernel must be an array int64"),
        (lambda n: np.arange(n + 1), "plan.kernel must be an array int64"),
        (lambda n: np.arange(n) + 1, "must have numbers of operations, 0 to"),
        (lambda n: np.full(n, -1), "fused into its readers, but nothing reads it"),
        (lambda n: np.zeros(n, np.int64), "kernel 0 writes several results"),
    ],
)
def test_a_plan_that_cannot_run_is_refused(kernel: Callable[[int], np.ndarray], message: str) -> None:
    def wrong(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        return replace(right(problem, rng, machine), plan=Plan(kernel(problem.n)))

    failures = failed(wrong)
    assert message in failures["plans_are_valid"] and message in failures["schedules_are_valid"]


def test_an_answer_of_another_type_is_named() -> None:
    failures = failed(lambda problem, rng, machine: separate(problem.n))
    assert set(failures) == set(CHECKS)
    assert "TypeError: fuse returned a Plan, and no graphs.methods.fusing.Fusion" in failures["plans_are_valid"]


def test_a_schedule_that_is_missing_or_of_another_plan_is_refused() -> None:
    def without(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        return Fusion(right(problem, rng, None).plan)

    def of_another(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        return replace(right(problem, rng, machine), plan=separate(problem.n), costs=np.zeros(0))

    assert set(failed(without)) == {"schedules_are_valid", "costs_are_those_of_the_plan"}
    assert "the schedule of its kernels: " in failed(of_another)["schedules_are_valid"]


def test_draws_that_are_not_from_the_generator_are_refused() -> None:
    failures = failed(lambda problem, rng, machine: right(problem, np.random.default_rng(), machine))
    assert set(failures) == {"same_seed_same_plans"}


def test_costs_of_another_plan_are_refused() -> None:
    def bold(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        fused = right(problem, rng, machine)
        return replace(fused, costs=np.array([1e-3]))

    def vague(problem: FusionProblem, rng: np.random.Generator, machine: Machine | None) -> Fusion:
        return replace(right(problem, rng, machine), costs=np.array([np.nan]))

    assert set(failed(bold)) == {"costs_are_those_of_the_plan"}
    assert "costs must be an array float64" in failed(vague)["plans_are_valid"]


def test_a_cost_model_that_is_wrong_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check compares with all plans, so that a fault of ours would be seen as well."""
    monkeypatch.setattr(fusion, "optima", lambda: tuple(1e9 for _ in small()))
    assert set(failed(right)) == {"nothing_beats_the_optimum"}


def test_a_method_that_changes_its_problem_is_refused() -> None:
    class Careless:
        def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Fusion:
            problem.written[:] += 1
            return right(problem, rng, machine)

    [failure] = CHECKS["problems_stay_as_they_are"](Candidate(Careless))
    assert failure.message == "it changed written of the problem; work on copies"
    assert failed(right) == {}, "the check has worked on a copy"
