"""A file of an instance -> its project. The form is recognised by the content; Patterson's by its name, `.rcp`, too."""

from __future__ import annotations

from pathlib import Path

from learned_schedulers.projects.problem import Project
from learned_schedulers.projects.read.job_shop import is_job_shop, read_job_shop
from learned_schedulers.projects.read.lines import Unreadable, lines_of
from learned_schedulers.projects.read.patterson import is_patterson, read_patterson
from learned_schedulers.projects.read.psplib import is_psplib, read_psplib


def read_project(path: Path) -> Project:
    """The project of a file. Raises ValueError that names the file, the line and what to do about it."""
    lines = lines_of(path)
    if is_psplib(lines):
        return read_psplib(path, lines)
    if is_patterson(path, lines):
        return read_patterson(path, lines)
    if is_job_shop(lines):
        return read_job_shop(path, lines)
    raise Unreadable(
        path,
        lines[0].number if lines else None,
        "this is no file .sm of PSPLIB, no .rcp, and not the standard text of a job-shop (a line `jobs machines`, then "
        "a line of machines and durations for each job)"
        if lines
        else "the file is empty",
        "name a file in one of these forms; task graphs are for the verb `graph`",
    )
