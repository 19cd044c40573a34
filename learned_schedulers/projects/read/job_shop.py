"""Job-shops in the standard text, as Taillard's, the OR-Library's and most other instances are published.

The first line has two integers, the numbers of jobs J and of machines M. Then each of J lines has M pairs of integers:
a machine, from 0 on, and how long the job needs it; the job visits the machines in this order. Before the first line
there may be any other lines, such as names and references; lines that begin with `#` may be anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from learned_schedulers.projects.problem import MOST_ACTIVITIES, MOST_RESOURCES, Invalid, JobShop, Project, project_of
from learned_schedulers.projects.read.lines import Line, Unreadable


def is_job_shop(lines: Sequence[Line]) -> bool:
    """Whether a line has the numbers of jobs and machines."""
    return any(line.is_integers(2) for line in lines)


def read_job_shop(path: Path, lines: Sequence[Line]) -> Project:
    """The job-shop that the lines of a file have. Raises Unreadable that names file and line."""
    lines = [line for line in lines if not line.text.lstrip().startswith("#")]
    first = next((number for number, line in enumerate(lines) if line.is_integers(2)), None)
    if first is None:
        raise Unreadable(path, None, "no line has the two numbers of jobs and machines", "write them before the jobs")
    head, behind = lines[first], lines[first + 1 :]
    jobs, machines = head.integers()
    if not (jobs > 0 and 0 < machines <= MOST_RESOURCES and jobs * machines <= MOST_ACTIVITIES):
        raise head.unreadable(
            f"{jobs} jobs and {machines} machines",
            f"give at least one of each, at most {MOST_RESOURCES} machines and {MOST_ACTIVITIES} jobs x machines",
        )
    rows = behind[:jobs]
    if len(rows) < jobs:
        raise (rows or [head])[-1].unreadable(
            f"the file ends after {len(rows)} of {jobs} jobs", "add the other jobs, or correct the number of jobs"
        )
    pairs = np.array([_pairs(line, job, machines) for job, line in enumerate(rows)], np.int64)
    if len(behind) > jobs:
        raise behind[jobs].unreadable(f"there is a line after the last of {jobs} jobs", "delete it, or begin it with #")
    if len(wrong := np.flatnonzero((pairs[..., 0] < 0).any(1) | (pairs[..., 0] >= machines).any(1))):
        raise rows[wrong[0]].unreadable(
            f"job {wrong[0]} has a machine that is not from 0 to {machines - 1}", "number the machines from 0 on"
        )
    try:
        return project_of(JobShop(pairs[..., 0].astype(np.int32), pairs[..., 1]))
    except Invalid as error:
        line = head if error.number is None else rows[error.number]
        raise line.unreadable(str(error), "correct it") from error


def _pairs(line: Line, job: int, machines: int) -> np.ndarray:
    """(machines, 2): machine and duration of each step."""
    numbers = line.integers()
    if len(numbers) != 2 * machines:
        raise line.unreadable(
            f"job {job} has {len(numbers)} integers, not {2 * machines}",
            f"write a machine and a duration for each of {machines} steps",
        )
    return np.array(numbers, np.int64).reshape(machines, 2)
