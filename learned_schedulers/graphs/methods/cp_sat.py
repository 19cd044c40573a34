"""OR-Tools CP-SAT on the proxy: a schedule of least makespan, or a proven lower bound.

Identical devices without transfers are one resource of capacity m: each operation is an interval, at most m overlap.
Durations are run times rounded down to whole steps, so that the bound also holds for the true run times:
`stats["bound"]`. A proof holds up to this rounding. The devices and the order are read back from the starts. The solver
starts from list scheduling's schedule, and has one worker and a limit of its deterministic time, so that its answer is
the same on every machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from learned_schedulers.graphs.devices.ordering import by_times
from learned_schedulers.graphs.devices.simulator import makespans, starts
from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import CpSat as Settings
from learned_schedulers.graphs.methods import TIMED_OUT, Budget, Proposals
from learned_schedulers.graphs.methods.rules.listing import by_critical_path
from learned_schedulers.graphs.methods.rules.proposing import proposed
from learned_schedulers.graphs.problems.problem import Problem

# At most this many steps in the makespan of list scheduling. Rounding down loses up to one step for each operation;
# with more steps the solver achieves less in the same time (50 operations, 1 s: 1.0012 times the bound; 1.0032 with ten
# times the steps).
_STEPS = 10_000
_MARGIN = 1e-9  # share of the bound that allows for the rounding of sums of seconds


class CpSat:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def propose(self, problem: Problem, rng: np.random.Generator, budget: Budget) -> Proposals:
        began = time.perf_counter()
        n, most = len(problem), self._settings.most_operations
        if n > most:
            return Proposals.unsupported(n, f"{n} operations; CP-SAT is used for at most {most}")
        if np.isfinite(problem.memory):
            return Proposals.unsupported(n, "devices of limited memory; the constraints of CP-SAT do not model memory")
        order, placement = by_critical_path(problem)
        simulated = starts(problem, order, placement)
        makespan = float((simulated + problem.seconds).max(initial=0.0))
        bound, proven = problem.bound, makespan <= problem.bound
        if not proven and budget.seconds > 0:
            steps = _steps(problem, makespan)
            begins, low, proven = _solve(problem, steps, simulated, budget.seconds, int(rng.integers(2**31)))
            bound = max(bound, low / steps.second * (1 - _MARGIN))
            if begins is not None:
                ends = begins + steps.durations
                schedule = by_times(begins, ends), _devices(begins, ends, problem.devices)
                if makespans(problem, *(part[None] for part in schedule))[0] < makespan:
                    order, placement = schedule
        solved = proposed(Target((problem,)), order[None], placement[None], began)
        stats = solved.stats | {"bound": np.array(bound)}
        if proven:
            return Proposals(solved.orders, solved.placements, stats=stats)
        message = f"no proof within {budget.seconds:g} s of deterministic time"
        return Proposals(solved.orders, solved.placements, TIMED_OUT, message, stats)


@dataclass(frozen=True)
class _Steps:
    """Run times in whole steps, rounded down."""

    durations: np.ndarray  # (n,) int64
    second: float  # steps in a second
    horizon: int  # steps; list scheduling ends by then


def _steps(problem: Problem, makespan: float) -> _Steps:
    """At most _STEPS steps: if all durations share a divisor, it becomes one step.

    So operations that all take the same time take one step, which makes proofs about whole numbers short.
    """
    durations = np.floor(problem.seconds * (_STEPS / makespan)).astype(np.int64)
    divisor = max(int(np.gcd.reduce(durations)), 1)
    return _Steps(durations // divisor, _STEPS / makespan / divisor, _STEPS // divisor + 1)


def _solve(
    problem: Problem, steps: _Steps, hint: np.ndarray, seconds: float, seed: int
) -> tuple[np.ndarray | None, float, bool]:
    """Start of each operation in steps, (n,) int64, a bound in steps, and whether the starts are optimal.

    hint: seconds at which the operations of a schedule start. The starts are None if the time ended before any.
    """
    durations, horizon = steps.durations, steps.horizon
    model = cp_model.CpModel()
    begins = [model.new_int_var(0, horizon, "") for _ in durations]
    intervals = [
        model.new_fixed_size_interval_var(begin, duration, "")
        for begin, duration in zip(begins, durations.tolist(), strict=True)
    ]
    for source, child in zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True):
        model.add(begins[child] >= begins[source] + int(durations[source]))
    model.add_cumulative(intervals, [1] * len(intervals), problem.devices)
    makespan = model.new_int_var(max(0, int(problem.bound * steps.second) - len(durations)), horizon, "")
    for begin, duration in zip(begins, durations.tolist(), strict=True):
        model.add(makespan >= begin + duration)
    for begin, step in zip(begins, np.floor(hint * steps.second).astype(np.int64).tolist(), strict=True):
        model.add_hint(begin, step)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Search in neighbourhoods too, which a single worker otherwise leaves out.
    solver.parameters.interleave_search = True
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, 0.0, False
    values = np.array([solver.value(begin) for begin in begins], np.int64)
    return values, float(solver.best_objective_bound), status == cp_model.OPTIMAL


def _devices(begins: np.ndarray, ends: np.ndarray, n_devices: int) -> np.ndarray:
    """A device for each interval, (n,) int32, where at most n_devices overlap: the device that is free for longest."""
    free, placement = np.zeros(n_devices, np.int64), np.empty(len(begins), np.int32)
    for i in by_times(begins, ends):
        placement[i] = free.argmin()
        # An operation without duration may begin when no device is free.
        free[placement[i]] = max(free[placement[i]], ends[i])
    return placement


make = CpSat
