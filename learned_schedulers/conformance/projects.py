"""Checks of methods for projects and job-shops: schedules are valid, budgets kept, and a seed decides the answer.

A check takes a `Candidate` and yields what is wrong; one that yields nothing is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from learned_schedulers.conformance.failures import Failure, Raised
from learned_schedulers.projects import judge
from learned_schedulers.projects.method_settings import RandomisedRules
from learned_schedulers.projects.methods import UNSUPPORTED, Budget, Schedules, best, make
from learned_schedulers.projects.models.drawn_job_shops import job_shop
from learned_schedulers.projects.problem import Project, chains, project_of

_FEW = 2  # schedules of the least budget
_SQUARE, _DRAWN = "job-shop, 6 jobs on 5 machines", "drawn project"
Schedule = Callable[[Project, np.random.Generator, Budget], Schedules]


@dataclass(frozen=True)
class Candidate:
    """A method with one kind of settings."""

    schedule: Schedule
    budget: Budget
    _answers: dict[str, Schedules] = field(default_factory=dict, init=False, compare=False, repr=False)

    def answer(self, name: str, budget: Budget | None = None) -> Schedules:
        """The answer with seed 0 to a project of `problems`. Raises Raised if the method raises."""
        try:
            return self.schedule(problems()[name], np.random.default_rng(0), budget or self.budget)
        except Exception as error:
            raise Raised(name) from error

    def of(self, name: str) -> Schedules:
        """The same within the whole budget, once."""
        if name not in self._answers:
            self._answers[name] = self.answer(name)
        return self._answers[name]


@cache
def problems() -> dict[str, Project]:
    """All kinds by their names."""
    rng = np.random.default_rng(7)
    unequal = [rng.integers(0, 4, steps) for steps in (1, 4, 2, 6)]
    return {
        "one activity": chains([np.array([0])], [np.array([3])], 1),
        "activities that take no time": chains([np.array([0, 1])] * 2, [np.array([0, 2])] * 2, 2),
        "one machine": chains([np.array([0])] * 5, [np.array([k]) for k in range(1, 6)], 1),
        _SQUARE: project_of(job_shop(rng, 6, 5)),
        "job-shop, 15 jobs on 8 machines": project_of(job_shop(rng, 15, 8)),
        "jobs of unequal steps": chains(unequal, [rng.integers(1, 9, len(row)) for row in unequal], 4),
        _DRAWN: _drawn(rng, 14, 3),
        "drawn project, no resources": _drawn(rng, 9, 0),
    }


def _drawn(rng: np.random.Generator, n: int, resources: int) -> Project:
    """A project with random precedences and demands."""
    capacities = rng.integers(2, 6, resources)
    targets = [np.flatnonzero(row) for row in np.triu(rng.random((n, n)) < 0.2, 1)]
    return Project(
        durations=rng.integers(0, 9, n),
        offsets=np.cumsum([0, *map(len, targets)]).astype(np.int32),
        targets=np.concatenate(targets).astype(np.int32),
        demands=rng.integers(0, capacities + 1, (n, resources)),
        capacities=capacities,
    )


def schedules_are_valid(candidate: Candidate) -> Iterator[Failure]:
    """Every schedule keeps precedences and capacities, by the one judge."""
    unsupported = []
    for name, project in problems().items():
        answer = candidate.of(name)
        unsupported += [name] if answer.status == UNSUPPORTED else []
        for number, starts in enumerate(answer.starts):
            try:
                judge.makespan(project, starts)
            except judge.Violation as violation:
                yield Failure(name, f"schedule {number}: {violation}")
                break
    if len(unsupported) == len(problems()):
        yield Failure("all projects", f"none is supported: {candidate.of(_SQUARE).message}; support some of them")


def budgets_are_kept(candidate: Candidate) -> Iterator[Failure]:
    """A smaller budget gives fewer schedules."""
    count = len(candidate.answer(_SQUARE, replace(candidate.budget, schedules=_FEW)).starts)
    if count > _FEW:
        yield Failure(_SQUARE, f"{count} schedules; budget.schedules allows {_FEW}")


def same_seed_same_schedules(candidate: Candidate) -> Iterator[Failure]:
    """The same seed gives the same answer."""
    for name in (_SQUARE, _DRAWN):
        before, again = candidate.of(name), candidate.answer(name)
        parts = ("status", "message", "bound", "starts")
        differ = [part for part in parts if not np.array_equal(getattr(before, part), getattr(again, part))]
        if differ:
            message = "a second call with the same seed differs; take all random draws from `rng`, and no clock"
            yield Failure(name, f"{', '.join(differ)} of {message}")


def no_bound_is_above_a_schedule(candidate: Candidate) -> Iterator[Failure]:
    """A bound that a method calls proven is not above the makespan of a schedule."""
    for name, project in problems().items():
        rules = make(RandomisedRules(method="randomised_rules"))
        shortest = best(project, rules.schedule(project, np.random.default_rng(0), Budget())).makespan
        if candidate.of(name).bound > shortest:
            yield Failure(
                name, f"its bound {candidate.of(name).bound} is above a schedule of {shortest}; it is no bound"
            )


Check = Callable[[Candidate], Iterator[Failure]]
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        schedules_are_valid,
        budgets_are_kept,
        same_seed_same_schedules,
        no_bound_is_above_a_schedule,
    )
}
