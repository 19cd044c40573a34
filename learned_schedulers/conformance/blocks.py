"""Checks of methods for blocks: orders are legal permutations, or there is a reason why not, and seeds decide all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.methods import OK, TIMED_OUT, UNSUPPORTED, Budget, Method, Solution
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.conformance.block_problems import batches
from learned_schedulers.conformance.failures import Failure, Raised

_STATUSES = (OK, TIMED_OUT, UNSUPPORTED)


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


def faults(problems: Problems, solution: Solution, may_violate: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with a solution, with the remedy. may_violate: decoders that keep no dependencies."""
    size, n = problems.latencies.shape
    if len(solution.status) != size or len(solution.message) != size:
        yield f"{len(solution.status)} statuses and {len(solution.message)} messages of {size} blocks; give each of one"
        return
    if unknown := sorted(set(map(str, solution.status)) - set(_STATUSES)):
        yield f"the status {unknown[0]!r}; it must be one of {', '.join(_STATUSES)}"
    solved = np.array([status == OK for status in solution.status], bool)
    if any((message == "") != ok for message, ok in zip(solution.message, solved, strict=True)):
        yield "a message must say why a status is not ok, only then"
    if not solution.orders:
        yield "there are no orders; name the only decoder 'none'"
    for decoder, order in solution.orders.items():
        if not isinstance(order, np.ndarray) or order.dtype != np.int16 or order.shape != (size, n):
            yield f"orders of {decoder!r} must be an array int16 of shape ({size}, {n})"
        elif not np.array_equal(np.sort(order[solved], 1), np.tile(np.arange(n), (int(solved.sum()), 1))):
            yield f"an order of {decoder!r} does not have each of {n} instructions once"
        elif (order[~solved] != -1).any():
            yield f"an order of {decoder!r} of a block that is not ok must be -1 in each slot"
        elif decoder not in may_violate and count_violations(problems.precedes[solved], order[solved]).any():
            yield f"an order of {decoder!r} breaks a dependency: i must come before k where precedes[block, i, k]"
    if wrong := [name for name, values in solution.stats.items() if np.shape(values) != (size,)]:
        yield f"the stats {wrong[0]!r} must have a value for each of {size} blocks"


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
    check.__name__: check for check in (orders_are_legal, same_seed_same_orders, problems_stay_as_they_are)
}
