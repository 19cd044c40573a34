"""OR-Tools CP-SAT: a schedule of least makespan, or a proven lower bound.

Every activity is an interval. Those that need a resource of capacity 1 do not overlap; the needs of those that share
another resource never exceed its capacity. The solver starts from the best of the priority rules, and has one worker
and a limit of its deterministic time, so that its answer is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from learned_schedulers.projects.method_settings import CpSat as Settings
from learned_schedulers.projects.methods import TIMED_OUT, Budget, Schedules
from learned_schedulers.projects.methods.rules.all_rules import by_rules, shortest
from learned_schedulers.projects.problem import Project

_LARGEST = 2**53  # all work of a resource; beyond, sums in the solver may overflow


class CpSat:
    def __init__(self, settings: Settings) -> None:
        self._most = settings.most_activities

    def schedule(self, project: Project, rng: np.random.Generator, budget: Budget) -> Schedules:
        n = len(project)
        if n > self._most:
            return Schedules.unsupported(n, f"{n} activities; CP-SAT is used for at most {self._most}")
        if int(project.durations.sum()) * int(project.capacities.max(initial=1)) >= _LARGEST:
            return Schedules.unsupported(
                n, "durations x capacities are too large for CP-SAT; give times in larger units"
            )
        of_rules = by_rules(project)
        starts = of_rules[shortest(project, of_rules)]
        if int((starts + project.durations).max(initial=0)) <= project.bound:
            return Schedules(starts[None], bound=project.bound)
        better, bound, proven = _solve(project, starts, budget.seconds, int(rng.integers(2**31)))
        starts = starts if better is None else better
        if proven:
            return Schedules(starts[None], bound=bound)
        message = f"no proof within {budget.seconds:g} s of deterministic time"
        return Schedules(starts[None], TIMED_OUT, message, bound)


def _solve(project: Project, hint: np.ndarray, seconds: float, seed: int) -> tuple[np.ndarray | None, int, bool]:
    """Starts, (n,) int64, a lower bound of the makespan, and whether the starts are optimal.

    hint: starts of a schedule. The starts are None if the time ended before any were found.
    """
    durations = project.durations.tolist()
    horizon = int((hint + project.durations).max())
    model = cp_model.CpModel()
    begins = [model.new_int_var(0, horizon - duration, "") for duration in durations]
    intervals = [
        model.new_fixed_size_interval_var(begin, duration, "")
        for begin, duration in zip(begins, durations, strict=True)
    ]
    for source, target in zip(project.sources.tolist(), project.targets.tolist(), strict=True):
        model.add(begins[target] >= begins[source] + durations[source])
    for capacity, demand in zip(project.capacities.tolist(), project.demands.T, strict=True):
        users = np.flatnonzero((demand > 0) & (project.durations > 0)).tolist()
        if capacity == 1:
            model.add_no_overlap([intervals[i] for i in users])
        elif users:
            model.add_cumulative([intervals[i] for i in users], demand[users].tolist(), capacity)
    makespan = model.new_int_var(project.bound, horizon, "")
    for begin, duration, start in zip(begins, durations, hint.tolist(), strict=True):
        model.add(makespan >= begin + duration)
        model.add_hint(begin, start)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Search in neighbourhoods too, which a single worker otherwise leaves out.
    solver.parameters.interleave_search = True
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, project.bound, False
    starts = np.array([solver.value(begin) for begin in begins], np.int64)
    bound = max(project.bound, int(np.ceil(solver.best_objective_bound - 1e-6)))
    return starts, bound, status == cp_model.OPTIMAL


make = CpSat
