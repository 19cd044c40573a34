"""Projects in Patterson's form, files `.rcp`, as RanGen and many published sets have them.

Integers alone, wherever lines end: the numbers of activities n and of resources R; how much there is of each resource;
then for each activity its duration, how much it needs of each resource, the number of its successors, and their
numbers, from 1 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from learned_schedulers.projects.problem import MOST_ACTIVITIES, MOST_DEMANDS, MOST_RESOURCES, Invalid, Project
from learned_schedulers.projects.read.lines import Line


def is_patterson(path: Path, lines: Sequence[Line]) -> bool:
    """Whether a file is named `.rcp`, and begins with two integers."""
    return path.suffix.lower() == ".rcp" and bool(lines) and lines[0].is_integers(2)


def read_patterson(path: Path, lines: Sequence[Line]) -> Project:
    """The project that the lines of a file have. Raises Unreadable that names file and line."""
    n, resources = lines[0].integers()
    if not (0 < n <= MOST_ACTIVITIES and 0 <= resources <= MOST_RESOURCES and n * resources <= MOST_DEMANDS):
        raise lines[0].unreadable(
            f"{n} activities and {resources} resources",
            f"give 1 to {MOST_ACTIVITIES} activities and at most {MOST_RESOURCES} resources",
        )
    numbers = [(line, number) for line in lines[1:] for number in line.integers()][::-1]

    def integers(count: int, missing: str) -> tuple[Line, list[int]]:
        """The next ones, and the line of the first of them."""
        if len(numbers) < count:
            raise lines[-1].unreadable(
                f"the file ends before {missing}", "add the rest, or correct the numbers at its top"
            )
        first = numbers[-1][0] if numbers else lines[-1]
        return first, [numbers.pop()[1] for _ in range(count)]

    _, capacities = integers(resources, "all resources' capacities")
    begins, rows, successors = list[Line](), list[list[int]](), list[list[int]]()
    for number in range(1, n + 1):
        place, (*row, count) = integers(resources + 2, f"activity {number} of {n}")
        begins.append(place)
        if not 0 <= count <= n:
            raise place.unreadable(f"activity {number} has {count} successors; there are {n} activities", "correct it")
        _, listed = integers(count, f"the successors of activity {number}")
        if wrong := [successor for successor in listed if not 1 <= successor <= n]:
            raise place.unreadable(f"activity {number} precedes {wrong[0]}; there are 1 to {n}", "correct it")
        rows.append(row)
        successors.append(sorted({successor - 1 for successor in listed}))
    if numbers:
        reason = f"there is more behind the last of {n} activities"
        raise numbers[-1][0].unreadable(reason, "delete it, or correct their number")
    try:
        return Project.from_rows(rows, successors, capacities)
    except Invalid as error:
        raise (lines[0] if error.number is None else begins[error.number]).unreadable(
            str(error), "correct it"
        ) from error
