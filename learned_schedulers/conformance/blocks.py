"""Checks of methods for blocks: orders are legal permutations, or there is a reason why not, and seeds decide all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.methods import OK, Budget, Method, Solution, faults
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.conformance.block_problems import batches
from learned_schedulers.conformance.failures import Failure, Raised


@dataclass(frozen=True)
class Candidate:
    """A method with one kind of settings."""

    make: Callable[[], Method]
    budget: Budget

    def solve(self, name: str, problems: Problems) -> Solution:
        """The solution with seed 0. Raises Raised if the method raises an error."""
        try:
            solution = self.make().solve(problems, np.random.default_rng(0), self.budget)
            if not isinstance(solution, Solution):
                raise TypeError(f"solve returned a {type(solution).__name__}, and no blocks.methods.Solution")
            return solution
        except Exception as error:
            raise Raised(name) from error


def orders_are_legal(candidate: Candidate) -> Iterator[Failure]:
    """Orders are legal permutations on batches of all kinds, or there is a reason why there is none."""
    supported = 0
    for name, problems in batches().items():
        solution = candidate.solve(name, problems)
        wrong = [Failure(name, fault) for fault in faults(problems, solution)]
        yield from wrong
        supported += len(wrong) or int((np.asarray(solution.status) == OK).sum())
    if not supported:
        yield Failure("all batches", "no block is ok; support some of them")


def same_seed_same_orders(candidate: Candidate) -> Iterator[Failure]:
    """The same seed gives the same orders."""
    name = "drawn, 9 instructions"
    first, again = (candidate.solve(name, batches()[name]) for _ in range(2))
    if set(first.orders) != set(again.orders) or any(
        not np.array_equal(order, again.orders[decoder]) for decoder, order in first.orders.items()
    ):
        yield Failure(name, "a second call with the same seed differs; take all random draws from `rng`, and no clock")


def problems_stay_as_they_are(candidate: Candidate) -> Iterator[Failure]:
    """The method does not change the arrays of its problems."""
    name = "drawn, 5 instructions"
    problems = batches()[name]
    copy = Problems(
        problems.precedes.copy(), problems.latencies.copy(), problems.conflicts.copy(), problems.instructions.copy()
    )
    candidate.solve(name, copy)
    changed = [
        key
        for key in ("precedes", "latencies", "conflicts", "instructions")
        if not np.array_equal(getattr(problems, key), getattr(copy, key))
    ]
    if changed:
        yield Failure(name, f"it changed {', '.join(changed)} of the problems; work on copies")


Check = Callable[[Candidate], Iterator[Failure]]
CHECKS: dict[str, Check] = {
    check.__name__: check for check in (problems_stay_as_they_are, orders_are_legal, same_seed_same_orders)
}
