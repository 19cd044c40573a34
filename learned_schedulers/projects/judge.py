"""The one judge of schedules: the starts of a project's activities -> their makespan, or the first violation.

It knows nothing of how a schedule was made, and no method is believed its own makespan.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.problem import LONGEST, Project


class Violation(ValueError):
    """The starts are no schedule; the message names the activities, the resource and the time."""


def makespan(project: Project, starts: np.ndarray) -> int:
    """The end of the last activity. starts: (n,) integers, units of time from 0 on.

    Raises Violation for the first that there is: of the starts themselves, of a precedence, of a resource's capacity.
    """
    starts = np.asarray(starts)
    if starts.shape != (len(project),) or starts.dtype.kind not in "iu":
        raise Violation(f"starts of shape {starts.shape} and type {starts.dtype}; {len(project)} integers are needed")
    starts = starts.astype(np.int64)
    most = len(project) * LONGEST
    if len(wrong := np.flatnonzero((starts < 0) | (starts > most))):
        i = int(wrong[0])
        raise Violation(f"{project.name_of(i)} starts at {starts[i]}; it must start between 0 and {most}")
    ends = starts + project.durations
    _check_precedence(project, starts, ends)
    for resource in range(len(project.capacities)):
        _check_capacity(project, resource, starts, ends)
    return int(ends.max(initial=0))


def _check_precedence(project: Project, starts: np.ndarray, ends: np.ndarray) -> None:
    sources, targets = project.sources, project.targets
    if len(wrong := np.flatnonzero(starts[targets] < ends[sources])):
        before, after = int(sources[wrong[0]]), int(targets[wrong[0]])
        raise Violation(
            f"{project.name_of(after)} starts at {starts[after]}, but {project.name_of(before)}, "
            f"which precedes it, ends at {ends[before]}"
        )


def _check_capacity(project: Project, resource: int, starts: np.ndarray, ends: np.ndarray) -> None:
    """An activity needs its resources from its start on, and at its end no more."""
    demand, capacity = project.demands[:, resource], project.capacities[resource]
    users = np.flatnonzero((demand > 0) & (ends > starts))
    times = np.r_[ends[users], starts[users]]  # at the same time, ends come first
    changes = np.r_[-demand[users], demand[users]]
    in_time = np.argsort(times, kind="stable")
    needed = np.cumsum(changes[in_time])
    if len(wrong := np.flatnonzero(needed > capacity)):
        time = times[in_time[wrong[0]]]
        running = users[(starts[users] <= time) & (time < ends[users])]
        names = "; ".join(project.name_of(int(i)) for i in running[:5]) + ("; ..." if len(running) > 5 else "")
        raise Violation(
            f"{project.resource_of(resource)} at time {time}: {demand[running].sum()} units are needed, "
            f"and there are {capacity} ({names})"
        )
