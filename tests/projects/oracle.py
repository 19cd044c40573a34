"""Slow and simple: is a schedule valid, unit of time by unit of time, and the least makespan of a small project."""

from __future__ import annotations

import numpy as np

from learned_schedulers.projects.problem import Project


def is_schedule(project: Project, starts: np.ndarray) -> bool:
    """Whether the starts respect all precedences, and at each time all capacities."""
    ends = [int(start) + int(duration) for start, duration in zip(starts, project.durations, strict=True)]
    for i in range(len(project)):
        for target in project.targets[project.offsets[i] : project.offsets[i + 1]]:
            if starts[target] < ends[i]:
                return False
    for time in range(max(ends, default=0)):
        running = [i for i in range(len(project)) if starts[i] <= time < ends[i]]
        if (project.demands[running].sum(0) > project.capacities).any():
            return False
    return all(start >= 0 for start in starts)


def least_makespan(project: Project) -> int:
    """By trying all orders: some order's serial schedule is optimal, because one of the active schedules is."""
    n, best = len(project), int(project.durations.sum())
    before = [set(project.sources[project.targets == i].tolist()) for i in range(n)]
    horizon = best + 1

    def extend(ends: dict[int, int], used: np.ndarray) -> None:
        nonlocal best
        if max(ends.values(), default=0) >= best and len(ends) < n:
            return
        if len(ends) == n:
            best = min(best, max(ends.values(), default=0))
        for i in range(n):
            if i in ends or not before[i] <= ends.keys():
                continue
            duration = int(project.durations[i])
            start = max((ends[j] for j in before[i]), default=0)
            while duration and (used[start : start + duration] + project.demands[i] > project.capacities).any():
                start += 1
            after = used.copy()
            after[start : start + duration] += project.demands[i]
            extend(ends | {i: start + duration}, after)

    extend({}, np.zeros((2 * horizon, len(project.capacities)), np.int64))
    return best
