"""Active schedules of job-shops, built operation by operation as by Giffler and Thompson (1960).

The operation that could end first names the machine of the next step. All operations that are ready for this machine
before that end are candidates, and one of them is chosen. Whatever is chosen, the schedule is active: no operation
could start earlier without delaying another. Some shortest schedule is active, so the choices can reach the optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from learned_schedulers.projects.problem import JobShop


class Shop(NamedTuple):
    """A job-shop of J jobs on M machines for compiled code. Times are whole numbers, which float64 holds exactly."""

    machines: np.ndarray  # (J, M) int32
    durations: np.ndarray  # (J, M) float64
    before: np.ndarray  # (J, M + 1) float64: a job's work before each of its steps, and all of it
    visits: np.ndarray  # (J, M) int64: the step at which a job visits a machine

    @staticmethod
    def of(job_shop: JobShop) -> Shop:
        """The arrays of a job-shop."""
        durations = job_shop.durations.astype(float)
        before = np.concatenate([np.zeros((len(durations), 1)), np.cumsum(durations, axis=1)], axis=1)
        return Shop(job_shop.machines, durations, before, np.argsort(job_shop.machines, axis=1))


class State(NamedTuple):
    """A schedule that is being built; its arrays change in place."""

    steps: np.ndarray  # (J,) int64: each job's next step; M after its last one
    jobs: np.ndarray  # (J,) float64: when the job's last operation so far ends
    machines: np.ndarray  # (M,) float64: when the machine's last operation so far ends
    loads: np.ndarray  # (M,) float64: work that the machine has left


@njit(cache=True)
def beginning(shop: Shop) -> State:
    """The empty schedule."""
    jobs, steps = shop.machines.shape
    loads = np.zeros(steps)
    for j in range(jobs):
        for step in range(steps):
            loads[shop.machines[j, step]] += shop.durations[j, step]
    return State(np.zeros(jobs, np.int64), np.zeros(jobs), np.zeros(steps), loads)


@njit(cache=True)
def ready(shop: Shop, state: State, job: int) -> float:
    """When the next operation of a job could start."""
    return max(state.jobs[job], state.machines[shop.machines[job, state.steps[job]]])


@njit(cache=True)
def conflict(shop: Shop, state: State, candidates: np.ndarray) -> tuple[int, float]:
    """Writes the jobs whose next operations are candidates into `candidates`, (J,).

    Returns their number, and the earliest end that decides who is among them.
    """
    jobs, steps = shop.machines.shape
    first, least = -1, np.inf
    for j in range(jobs):
        if state.steps[j] < steps:
            end = ready(shop, state, j) + shop.durations[j, state.steps[j]]
            if end < least:
                first, least = j, end
    machine = shop.machines[first, state.steps[first]]
    count = 0
    for j in range(jobs):
        step = state.steps[j]
        if step < steps and shop.machines[j, step] == machine and (j == first or ready(shop, state, j) < least):
            candidates[count] = j
            count += 1
    return count, least


@njit(cache=True)
def append(shop: Shop, state: State, job: int) -> float:
    """Adds the next operation of a job to the schedule; returns its start."""
    step = state.steps[job]
    machine, start = shop.machines[job, step], ready(shop, state, job)
    state.jobs[job] = state.machines[machine] = start + shop.durations[job, step]
    state.loads[machine] -= shop.durations[job, step]
    state.steps[job] += 1
    return start
