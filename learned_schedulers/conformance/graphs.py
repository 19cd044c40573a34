"""Checks of methods for computation graphs: schedules are valid, budgets kept, and nothing is better than the optimum.

A check takes a `Candidate` and yields what is wrong; one that yields nothing is passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from learned_schedulers.bench.tasks import SIMULATED, Introduction
from learned_schedulers.conformance.failures import Failure, Raised
from learned_schedulers.conformance.graph_problems import WIDE, optima, problems, small, tight
from learned_schedulers.graphs.devices import targets
from learned_schedulers.graphs.devices.targets import CountedTarget, Target
from learned_schedulers.graphs.methods import UNSUPPORTED, Budget, Method, Proposals
from learned_schedulers.graphs.methods.rules.checking import ROUNDING, faults
from learned_schedulers.graphs.methods.rules.keeping import keep
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.method_settings import MethodSettings

_FEW = 2  # proposals of the least budget
_CURVE = {"evaluations", "best", "seconds"}
_ALMOST = 1e-12  # relative: the same cost by the same simulator


@dataclass(frozen=True)
class Candidate:
    """A method with one kind of settings."""

    method: MethodSettings | Introduction  # of which `needs` counts
    make: Callable[[Problem, Target], Method]  # for a problem, with the target that it is given if it needs it
    budget: Budget
    _drawn: dict[str, Proposals] = field(default_factory=dict, init=False, compare=False, repr=False)

    def propose(self, name: str, problem: Problem, budget: Budget | None = None) -> Proposals:
        """Proposals with seed 0. The method sees the problem without transfers. Raises Raised if the method does."""
        proxy, target = targets.proxy(problem).sealed(), Target((problem,)).sealed()
        return self.propose_on(name, proxy, target, budget or self.budget)

    def propose_on(self, name: str, proxy: Target, target: Target, budget: Budget) -> Proposals:
        """The same on these targets."""
        try:
            method = self.make(target.draws[0], target)
            proposals = method.propose(proxy.draws[0], np.random.default_rng(0), budget)
            if not isinstance(proposals, Proposals):
                raise TypeError(f"propose returned a {type(proposals).__name__}, and no graphs.methods.Proposals")
            return proposals
        except Exception as error:
            raise Raised(name) from error

    def of(self, name: str) -> Proposals:
        """The same on a problem of `problems`, once."""
        if name not in self._drawn:
            self._drawn[name] = self.propose(name, problems()[name])
        return self._drawn[name]

    def visible(self, problem: Problem) -> Target:
        """The target that the method sees."""
        return Target((problem,)) if "target" in self.method.needs else targets.proxy(problem)


def schedules_are_valid(candidate: Candidate) -> Iterator[Failure]:
    """Proposals are schedules, at most as many as the budget allows, on graphs of all kinds."""
    unsupported = []
    for name, problem in problems().items():
        proposals = candidate.of(name)
        yield from (Failure(name, fault) for fault in faults(proposals, problem, candidate.budget))
        unsupported += [name] if proposals.status == UNSUPPORTED else []
    if len(unsupported) == len(problems()):
        yield Failure("all problems", f"none is supported: {candidate.of(WIDE).message}; support some of them")


def budgets_are_kept(candidate: Candidate) -> Iterator[Failure]:
    """A smaller budget gives fewer proposals, and no more schedules are simulated than it allows."""
    problem, budget = problems()[WIDE], replace(candidate.budget, proposals=_FEW)
    target = CountedTarget((problem,)).sealed()
    proposals = candidate.propose_on(WIDE, targets.proxy(problem).sealed(), target, budget)
    yield from (Failure(WIDE, fault) for fault in faults(proposals, problem, budget))
    simulated = max(target.simulated, int(proposals.stats.get(SIMULATED, 0)))  # here, or in the method's process
    if simulated > (allowed := max(budget.evaluations, budget.proposals)):
        message = f"it simulated {simulated} schedules by target.seconds; budget.evaluations allows {allowed}"
        yield Failure(WIDE, message)


def same_seed_same_proposals(candidate: Candidate) -> Iterator[Failure]:
    """The same seed gives the same proposals."""
    for name in (WIDE, "drawn 0"):
        before, again = candidate.of(name), candidate.propose(name, problems()[name])
        parts = ["status", "message"] if before.status == UNSUPPORTED else ["status", "orders", "placements"]
        differ = [part for part in parts if not np.array_equal(getattr(before, part), getattr(again, part))]
        differ += sorted(set(before.stats) ^ set(again.stats))
        differ += [
            key
            for key in sorted(set(before.stats) & set(again.stats) - {"seconds"})
            if not np.array_equal(before.stats[key], again.stats[key])
        ]
        if differ:
            message = "a second call with the same seed differs; take all random draws from `rng`, and no clock"
            yield Failure(name, f"{', '.join(differ)} of {message}")


def nothing_beats_the_optimum(candidate: Candidate) -> Iterator[Failure]:
    """No schedule of a small graph is better than the best of all schedules, and no bound is above it."""
    for number, (problem, shortest) in enumerate(zip(small(), optima(), strict=True)):
        name, on_target, on_proxy = f"small {number}", *shortest
        proposals = candidate.propose(name, problem)
        wrong = [Failure(name, fault) for fault in faults(proposals, problem, candidate.budget)]
        yield from wrong
        if wrong or proposals.status == UNSUPPORTED:
            continue
        visible = candidate.visible(problem)
        optimum = on_proxy if visible.draws[0].transfers.delay == visible.draws[0].transfers.slope == 0 else on_target
        schedules = keep(proposals, visible, Target((problem,)))
        if not len(schedules.orders):
            yield Failure(name, "none of its schedules fits the memory, which is unlimited")
            continue
        costs = schedules.judged_seconds[schedules.best], schedules.visible_seconds[0]
        if costs[0] < on_target * ROUNDING or costs[1] < optimum * ROUNDING:
            yield Failure(name, f"the simulator gives {costs}, less than the optimum {on_target}, {optimum}")
        if "bound" in proposals.stats and proposals.stats["bound"] > optimum / ROUNDING:
            yield Failure(name, f"its bound {proposals.stats['bound']} is above the optimum {optimum}; it is no bound")


def curves_fall_to_the_best(candidate: Candidate) -> Iterator[Failure]:
    """The anytime curve, if it is offered, falls to the cost of the best proposal within the budget."""
    problem, proposals = problems()[WIDE], candidate.of(WIDE)
    offered = _CURVE & set(proposals.stats)
    if proposals.status == UNSUPPORTED or not offered:
        return
    if offered != _CURVE:
        yield Failure(WIDE, f"the stats have {sorted(offered)}; give all of {sorted(_CURVE)}, or none")
        return
    evaluations, best, seconds = (np.asarray(proposals.stats[name]) for name in ("evaluations", "best", "seconds"))
    if not len(evaluations) == len(best) == len(seconds) or not len(best):
        yield Failure(WIDE, "evaluations, best and seconds have other lengths, or no points; give one of each a point")
        return
    if (np.diff(evaluations) <= 0).any() or (np.diff(seconds) < 0).any() or (np.diff(best) > 0).any():
        yield Failure(WIDE, "evaluations must rise, seconds must not fall, and best must not rise along the curve")
    least = float(candidate.visible(problem).seconds(proposals.orders, proposals.placements).min())
    if abs(best[-1] - least) > _ALMOST * least:
        yield Failure(WIDE, f"the curve ends at {best[-1]}, and the best proposal takes {least} on what it sees")
    allowed = max(candidate.budget.evaluations, candidate.budget.proposals)
    if evaluations[-1] > allowed:
        yield Failure(WIDE, f"it made {evaluations[-1]} evaluations; budget.evaluations allows {allowed}")


def memory_is_kept_or_refused(candidate: Candidate) -> Iterator[Failure]:
    """On devices that hold seven of nine operations, some proposal fits, or the method says why there is none."""
    problem = tight()
    proposals = candidate.propose("tight memory", problem)
    wrong = [Failure("tight memory", fault) for fault in faults(proposals, problem, candidate.budget)]
    yield from wrong
    if wrong or proposals.status == UNSUPPORTED:
        return
    if not len(keep(proposals, targets.proxy(problem), Target((problem,))).orders):
        remedy = "look at problem.memory (rules/repair.py), or answer Proposals.unsupported with the reason"
        yield Failure(
            "tight memory", f"none of {len(proposals.orders)} proposals fits {problem.memory:g} bytes; {remedy}"
        )


Check = Callable[[Candidate], Iterator[Failure]]
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        schedules_are_valid,
        budgets_are_kept,
        same_seed_same_proposals,
        nothing_beats_the_optimum,
        curves_fall_to_the_best,
        memory_is_kept_or_refused,
    )
}
