"""Each check of methods for blocks refuses a method that is wrong in just this, and passes one that is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.methods import OK, Budget, Solution, faults
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.conformance.block_problems import batches, reduced
from learned_schedulers.conformance.blocks import CHECKS, Candidate
from learned_schedulers.conformance.failures import failures_of

Solve = Callable[[Problems, np.random.Generator], Any]


def orders(problems: Problems, rng: np.random.Generator) -> np.ndarray:
    return random_ready(problems.precedes, rng).astype(np.int16)


def candidate(solve: Solve) -> Candidate:
    class Method:
        def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Any:
            return solve(problems, rng)

    return Candidate(Method, Budget())


def failed(solve: Solve) -> set[str]:
    return {name for name, check in CHECKS.items() if list(failures_of(check, candidate(solve)))}


def test_a_method_that_is_right_passes() -> None:
    assert failed(lambda problems, rng: Solution.of({"none": orders(problems, rng)})) == set()


def changed(problems: Problems, rng: np.random.Generator, change: str) -> Any:
    order = orders(problems, rng)
    size = len(order)
    match change:
        case "illegal":
            return Solution.of({"none": np.ascontiguousarray(order[:, ::-1])})
        case "twice":
            return Solution.of({"none": np.zeros_like(order)})
        case "type":
            return Solution.of({"none": order.astype(np.int64)})
        case "shape":
            return Solution.of({"none": order[:, :-1]})
        case "status":
            return Solution({"none": order}, np.full(size, "fine", object), np.full(size, "why", object))
        case "silent":
            return Solution({"none": order * 0 - 1}, np.full(size, "unsupported", object), np.full(size, "", object))
        case "short":
            return Solution({"none": order}, np.full(1, OK, object), np.full(1, "", object))
        case "stats":
            return Solution.of({"none": order}, cycles=np.zeros(size + 1))
        case "no number":
            return Solution.of({"none": order}, cycles=np.where(np.arange(size) == 1, np.nan, 0.0))
        case "no orders":
            return Solution({}, np.full(size, OK, object), np.full(size, "", object))
    return [order]


def test_an_answer_of_another_type_is_named() -> None:
    solve = partial(changed, change="list")
    [failure] = failures_of(CHECKS["orders_are_legal"], candidate(solve))
    assert "it raised TypeError: solve returned a list, and no blocks.methods.Solution" in failure.message
    assert failed(solve) == set(CHECKS)


MESSAGES = {
    "illegal": "breaks a dependency",
    "twice": "does not have each of 9 instructions once",
    "type": r"must be an array int16 of shape \(6, 9\)",
    "shape": "must be an array int16",
    "status": "the status 'fine'; it must be one of ok, timed out, unsupported",
    "silent": "a message must say why",
    "short": "1 statuses and 1 messages of 6 blocks",
    "stats": "the stats 'cycles' must have a value for each of 6 blocks",
    "no number": "the stats 'cycles' of blocks that are ok must be numbers, and not NaN",
    "no orders": "there are no orders",
}


@pytest.mark.parametrize("change", MESSAGES)
def test_what_is_wrong_is_named(change: str) -> None:
    problems = batches()["drawn, 9 instructions"]
    solution = changed(problems, np.random.default_rng(0), change)
    with pytest.raises(AssertionError, match=MESSAGES[change]):
        raise AssertionError("; ".join(faults(problems, solution)))
    assert "orders_are_legal" in failed(lambda problems, rng: changed(problems, rng, change))


def test_draws_that_are_not_from_the_generator_are_refused() -> None:
    def own_draws(problems: Problems, rng: np.random.Generator) -> Solution:
        return Solution.of({"none": orders(problems, np.random.default_rng())})

    assert failed(own_draws) == {"same_seed_same_orders"}


def test_a_method_that_changes_its_problems_is_refused() -> None:
    def careless(problems: Problems, rng: np.random.Generator) -> Solution:
        problems.latencies[:] += 1
        return Solution.of({"none": orders(problems, rng)})

    assert "problems_stay_as_they_are" in failed(careless)


@pytest.mark.parametrize("name", batches())
def test_dependencies_are_a_transitive_reduction_of_the_conflicts(name: str) -> None:
    """By powers of the relation."""
    problems = batches()[name]
    for precedes, conflicts in zip(problems.precedes, problems.conflicts > 0, strict=True):
        n = len(precedes)
        closures = []
        for relation in (precedes, conflicts):
            closure = relation.copy()
            for _ in range(n):
                closure = closure | (closure.astype(int) @ relation.astype(int) > 0)
            closures.append(closure)
        assert np.array_equal(*closures)
        for i, k in np.argwhere(precedes):
            less = precedes.copy()
            less[i, k] = False
            assert not any(less[i, j] and closures[0][j, k] for j in range(n)), "the edge is implied"
    assert np.array_equal(reduced(problems.precedes[0]), problems.precedes[0])
