"""Job-shops in the standard text, as Taillard's, the OR-Library's and most other instances are published.

The first line has two integers, the numbers of jobs J and of machines M. Then each of J lines has pairs of integers: a
machine, from 0 on, and how long the job needs it; the job visits the machines in this order, usually each of them once.
Before the first line there may be any other lines, such as names and references; lines that begin with `#` may be
anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from learned_schedulers.projects.problem import (
    MOST_ACTIVITIES,
    MOST_RESOURCES,
    Invalid,
    JobShop,
    Project,
    chains,
    project_of,
)
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
    pairs = [_pairs(line, job) for job, line in enumerate(rows)]
    if len(behind) > jobs:
        raise behind[jobs].unreadable(f"there is a line after the last of {jobs} jobs", "delete it, or begin it with #")
    for job, (line, row) in enumerate(zip(rows, pairs, strict=True)):
        if ((row[:, 0] < 0) | (row[:, 0] >= machines)).any():
            reason = f"job {job} has a machine that is not from 0 to {machines - 1}"
            raise line.unreadable(reason, "number the machines from 0 on")
    equal = all(np.array_equal(np.sort(row[:, 0]), np.arange(machines)) for row in pairs)
    try:
        if not equal:
            return chains([row[:, 0] for row in pairs], [row[:, 1] for row in pairs], machines)
        visits = np.stack(pairs)
        return project_of(JobShop(visits[..., 0].astype(np.int32), visits[..., 1]))
    except Invalid as error:
        number = error.number
        if number is not None and not equal:  # of an activity
            number = int(np.searchsorted(np.cumsum([len(row) for row in pairs]), number, side="right"))
        raise (head if number is None else rows[number]).unreadable(str(error), "correct it") from error


def _pairs(line: Line, job: int) -> np.ndarray:
    """(steps, 2): machine and duration of each step."""
    numbers = line.integers()
    if len(numbers) % 2:
        raise line.unreadable(
            f"job {job} has {len(numbers)} integers, an odd number", "write a machine and a duration for each step"
        )
    return np.array(numbers, np.int64).reshape(-1, 2)
