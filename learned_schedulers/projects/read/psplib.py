"""Projects of PSPLIB (Kolisch and Sprecher 1996): its files `.sm`, in which every activity has a single mode.

What is read, by the words at the beginning of lines:

- `jobs (incl. supersource/sink ): n`, and `- renewable : R`, the numbers of activities and of resources;
- `PRECEDENCE RELATIONS:`, a line of titles, then a line for each activity: its number from 1 on, its number of modes
  (1), the number of its successors, and their numbers;
- `REQUESTS/DURATIONS:`, a line of titles, then a line for each activity: its number, the mode (1), its duration, and
  how much it needs of each resource;
- `RESOURCEAVAILABILITIES:`, a line of titles, then a line with how much there is of each resource.

Lines of stars or dashes divide them. Release and due dates are no part of the problem and are not read. Files `.mm`, in
which an activity has several modes or uses up nonrenewable resources, are another problem, and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.projects.problem import MOST_ACTIVITIES, MOST_DEMANDS, MOST_RESOURCES, Invalid, Project
from learned_schedulers.projects.read.lines import Line, Unreadable

_PRECEDENCE, _REQUESTS, _AVAILABLE = "PRECEDENCE RELATIONS", "REQUESTS/DURATIONS", "RESOURCEAVAILABILITIES"
_SINGLE = "give every activity one mode and renewable resources alone: the problem of several modes is not solved here"


class _Sizes(NamedTuple):
    activities: int
    resources: int
    line: Line  # of the number of activities


def is_psplib(lines: Sequence[Line]) -> bool:
    """Whether the lines have the parts of PSPLIB's files."""
    return any(line.text.strip().startswith((_PRECEDENCE, _REQUESTS)) for line in lines)


def read_psplib(path: Path, lines: Sequence[Line]) -> Project:
    """The project that the lines of a file have. Raises Unreadable that names file and line."""
    lines = [line for line in lines if line.text.strip(" \t\r*-")]
    sizes = _sizes(path, lines)
    n, resources = sizes.activities, sizes.resources
    precedence = _rows(path, lines, _PRECEDENCE, n)
    requests = _rows(path, lines, _REQUESTS, n)
    [available] = _rows(path, lines, _AVAILABLE, 1)
    successors = [_successors(line, number, n) for number, line in enumerate(precedence, 1)]
    rows = [_request(line, number, resources) for number, line in enumerate(requests, 1)]
    capacities = available.integers()
    if len(capacities) != resources:
        raise available.unreadable(f"{len(capacities)} numbers for {resources} resources", "give one for each")
    try:
        return Project.from_rows(rows, successors, capacities)
    except Invalid as error:
        part = precedence if "precedes" in str(error) or "cycle" in str(error) else requests
        line = available if error.number is None else part[error.number]
        raise line.unreadable(str(error), "correct it") from error


def _sizes(path: Path, lines: Sequence[Line]) -> _Sizes:
    of_activities = _number(path, lines, r"\s*jobs\b.*:\s*(-?\d+)\s*", "jobs (incl. supersource/sink ):  32")
    of_resources = _number(path, lines, r"\s*-\s*renewable\s*:\s*(-?\d+)\s*R?\s*", "- renewable :  4   R")
    for kind in ("nonrenewable", "doubly constrained"):
        line, count = _number(path, lines, rf"\s*-\s*{kind}\s*:\s*(-?\d+)\s*[ND]?\s*", f"- {kind} :  0")
        if count != 0:
            raise line.unreadable(f"{count} {kind} resources: the form .mm", _SINGLE)
    (line, n), (of_line, resources) = of_activities, of_resources
    if not 0 < n <= MOST_ACTIVITIES:
        raise line.unreadable(f"{n} activities", f"give at least 1 and at most {MOST_ACTIVITIES}")
    if not 0 <= resources <= MOST_RESOURCES or n * resources > MOST_DEMANDS:
        raise of_line.unreadable(f"{resources} resources of {n} activities", f"give at most {MOST_RESOURCES}")
    return _Sizes(n, resources, line)


def _number(path: Path, lines: Sequence[Line], pattern: str, example: str) -> tuple[Line, int]:
    """The number in the first line of this pattern, and the line."""
    for line in lines:
        if match := re.fullmatch(pattern, line.text):
            if len(match[1]) > 9:
                raise line.unreadable("the number is too large", "correct it")
            return line, int(match[1])
    raise Unreadable(path, None, f"there is no line such as {example!r}", "add it, or name another file")


def _rows(path: Path, lines: Sequence[Line], title: str, count: int) -> Sequence[Line]:
    """The lines of a part, behind its title and the titles of its columns."""
    first = next((number for number, line in enumerate(lines) if line.text.strip().startswith(title)), None)
    if first is None:
        raise Unreadable(path, None, f"the part {title} is missing", "add it, or name a file .sm of PSPLIB")
    rows = lines[first + 2 : first + 2 + count]
    numeric = next((number for number, line in enumerate(rows) if not re.match(r"\s*-?\d", line.text)), len(rows))
    if numeric < count:
        line = lines[min(first + 2 + numeric, len(lines) - 1)]
        raise line.unreadable(f"{title} has {numeric} lines of numbers, not {count}", "add the others")
    after = lines[first + 2 + count : first + 3 + count]
    if after and re.match(r"\s*-?\d", after[0].text):
        raise after[0].unreadable(
            f"{title} has more than {count} lines of numbers", f"correct the number of jobs, or {_SINGLE}"
        )
    return rows


def _successors(line: Line, number: int, n: int) -> list[int]:
    """Successors of an activity, from 0 on, ascending and each once."""
    numbers = line.integers()
    if len(numbers) < 3 or numbers[0] != number:
        raise line.unreadable(f"this is not the line of activity {number}", "write: number, modes, count, successors")
    if numbers[1] != 1:
        raise line.unreadable(f"activity {number} has {numbers[1]} modes", _SINGLE)
    listed = numbers[3:]
    if len(listed) != numbers[2]:
        raise line.unreadable(f"activity {number} has {len(listed)} successors, not {numbers[2]}", "correct it")
    if wrong := [successor for successor in listed if not 1 <= successor <= n]:
        raise line.unreadable(f"activity {number} precedes {wrong[0]}; there are 1 to {n}", "correct it")
    return sorted({successor - 1 for successor in listed})


def _request(line: Line, number: int, resources: int) -> list[int]:
    """Duration of an activity, and how much it needs of each resource."""
    numbers = line.integers()
    if len(numbers) != 3 + resources or numbers[:2] != [number, 1]:
        raise line.unreadable(
            f"this is not the line of activity {number} in mode 1 with {resources} resources",
            "write: number, mode, duration, needs",
        )
    return numbers[2:]
