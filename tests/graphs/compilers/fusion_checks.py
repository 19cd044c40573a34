"""Checks of methods of fusion: plans can run, costs are true, seeds decide all, and nothing is better than the optimum.

On several devices the answer also has a schedule of the plan's kernels, which is judged as any other schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from learned_schedulers.conformance.failures import Failure, Raised
from learned_schedulers.graphs.compilers.cost import seconds
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kernel_graph import kernel_graph
from learned_schedulers.graphs.compilers.plan import Plan
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.methods import Budget, Proposals
from learned_schedulers.graphs.methods.fusing import Fusion, Method, faults
from learned_schedulers.graphs.methods.rules import checking
from learned_schedulers.graphs.methods.rules.checking import ROUNDING
from learned_schedulers.graphs.models.fusing.joint import Machine
from learned_schedulers.methods import Unsupported
from tests.graphs.compilers.made import SEVERAL, WIDE, optima, problems, small

_ALMOST = 1e-9  # relative: the same sum, in another sequence


@dataclass(frozen=True)
class Candidate:
    """A method with one kind of settings."""

    make: Callable[[], Method]

    def fuse(self, name: str, problem: FusionProblem, machine: Machine | None = None) -> Fusion | str:
        """The answer with seed 0, or why the problem is not supported. Raises Raised for any other error."""
        try:
            answer = self.make().fuse(problem, np.random.default_rng(0), machine)
            if not isinstance(answer, Fusion) or not isinstance(answer.plan, Plan):
                raise TypeError(
                    f"fuse returned a {type(answer).__name__}, and no graphs.methods.fusing.Fusion of a Plan"
                )
            return answer
        except Unsupported as error:
            return str(error) or "it does not say why"
        except Exception as error:
            raise Raised(name) from error


def _cost(name: str, problem: FusionProblem, fusion: Fusion, machine: Machine | None) -> tuple[float, list[Failure]]:
    """Seconds of an answer by the judge, and what is wrong with the answer."""
    if wrong := list(faults(problem, fusion)):
        return np.nan, [Failure(name, fault) for fault in wrong]
    if machine is None:
        return seconds(problem, fusion.plan), []
    if fusion.scheduled is None:
        return np.nan, [Failure(name, "it has no schedule on several devices; see `fusion_of` of methods.fusing")]
    kernels, best = kernel_graph(problem, fusion.plan, machine.devices, machine.transfers), fusion.scheduled.evaluated
    proposals = Proposals(np.asarray(best.orders), np.asarray(best.placements))
    if wrong := list(checking.faults(proposals, kernels.problem, Budget(1))):
        return np.nan, [Failure(name, f"the schedule of its kernels: {fault}") for fault in wrong]
    cost = float(makespans(kernels.problem, best.orders, best.placements)[0])
    if abs(fusion.scheduled.seconds - cost) > _ALMOST * cost:
        message = f"its schedule says {fusion.scheduled.seconds}, and the simulator {cost}: it is of another plan"
        return cost, [Failure(name, message)]
    return cost, []


def _valid(candidate: Candidate, machine: Machine | None) -> Iterator[Failure]:
    answers = {name: candidate.fuse(name, problem, machine) for name, problem in problems().items()}
    for name, answer in answers.items():
        if not isinstance(answer, str):
            yield from _cost(name, problems()[name], answer, machine)[1]
    other = candidate.fuse(WIDE, problems()[WIDE], SEVERAL if machine is None else None)
    if isinstance(other, str) and all(isinstance(answer, str) for answer in answers.values()):
        yield Failure("all problems", f"none is supported: {answers[WIDE]}; support some of them")


def plans_are_valid(candidate: Candidate) -> Iterator[Failure]:
    """Plans can run, on problems of all kinds and one device."""
    yield from _valid(candidate, None)


def schedules_are_valid(candidate: Candidate) -> Iterator[Failure]:
    """Plans can run, and their kernels have a schedule, on several devices."""
    yield from _valid(candidate, SEVERAL)


def same_seed_same_plans(candidate: Candidate) -> Iterator[Failure]:
    """The same seed gives the same plan, schedule and costs."""
    for name in (WIDE, "drawn 0"):
        for machine in (None, SEVERAL):
            first, again = (_arrays(candidate.fuse(name, problems()[name], machine)) for _ in range(2))
            if len(first) != len(again) or not all(map(np.array_equal, first, again)):
                message = "a second call with the same seed differs; take all random draws from `rng`, and no clock"
                yield Failure(name, message)


def _arrays(answer: Fusion | str) -> list[np.ndarray]:
    if isinstance(answer, str):
        return [np.array(answer)]
    scheduled = answer.scheduled
    schedule = [] if scheduled is None else [scheduled.evaluated.orders, scheduled.evaluated.placements]
    return [answer.plan.kernel, answer.costs, *schedule]


def nothing_beats_the_optimum(candidate: Candidate) -> Iterator[Failure]:
    """No plan of a small problem costs less than the best of all plans."""
    for number, (problem, least) in enumerate(zip(small(), optima(), strict=True)):
        name = f"small {number}"
        answer = candidate.fuse(name, problem)
        if isinstance(answer, str):
            continue
        cost, wrong = _cost(name, problem, answer, None)
        yield from wrong
        if cost < least * ROUNDING:
            yield Failure(name, f"the cost of its plan is {cost}, less than the optimum {least}")


def costs_are_those_of_the_plan(candidate: Candidate) -> Iterator[Failure]:
    """The costs of its evaluations, if it records them, have the cost of its plan or schedule as the least."""
    for name in (WIDE, "drawn 1"):
        for machine in (None, SEVERAL):
            answer = candidate.fuse(name, problems()[name], machine)
            if isinstance(answer, str):
                continue
            cost, wrong = _cost(name, problems()[name], answer, machine)
            yield from wrong
            if not wrong and len(answer.costs) and not abs(answer.costs.min() - cost) <= _ALMOST * cost:
                yield Failure(name, f"the least of its costs is {answer.costs.min()}, and its answer takes {cost}")


def problems_stay_as_they_are(candidate: Candidate) -> Iterator[Failure]:
    """The method does not change the arrays of its problem."""
    name = "drawn 1"
    problem = problems()[name]
    arrays: dict[str, Any] = {key: array for key, array in problem._asdict().items() if isinstance(array, np.ndarray)}
    copy = problem._replace(**{key: array.copy() for key, array in arrays.items()})
    for machine in (None, SEVERAL):
        candidate.fuse(name, copy, machine)
    changed = [key for key, array in arrays.items() if not np.array_equal(array, getattr(copy, key))]
    if changed:
        yield Failure(name, f"it changed {', '.join(changed)} of the problem; work on copies")


Check = Callable[[Candidate], Iterator[Failure]]
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        problems_stay_as_they_are,
        plans_are_valid,
        schedules_are_valid,
        same_seed_same_plans,
        nothing_beats_the_optimum,
        costs_are_those_of_the_plan,
    )
}
