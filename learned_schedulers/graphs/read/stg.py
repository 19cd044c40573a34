"""Task graphs of the Standard Task Graph Set (Tobita and Kasahara 2002), files `.stg` without communication costs.

The first line has the number n of tasks. Each of the next n + 2 lines is a task, the first and the last of them a dummy
without a run time: its number from 0 on, its run time in units, the number of its predecessors, and their numbers.
Lines that begin with `#` say how the graph was made, and are not read. A unit of time counts as a second, and no bytes
go from task to task. The set's files with communication costs have further numbers, and are refused.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from learned_schedulers.files import content
from learned_schedulers.graphs.read.task_graphs import FREE, TaskGraph, Tasks, graph_of_file

_LARGEST = 2**28  # bytes of a file
_MOST_TASKS = 1_000_000
_DIGITS = 15  # of a number


def read_stg(path: Path) -> TaskGraph:
    """The task graph of a file. Raises ValueError that names file and line."""
    text = content(path, _LARGEST).decode("utf-8-sig", "replace")
    lines = [
        (number, line.split())
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise ValueError(f"{path}: the file has no numbers; name a file of the Standard Task Graph Set")
    head, *rows = [(number, _integers(path, number, words)) for number, words in lines]
    first, numbers = head
    if len(numbers) != 1 or not 0 <= numbers[0] <= _MOST_TASKS:
        raise ValueError(
            f"{path}, line {first}: the first line must have the number of tasks alone, at most {_MOST_TASKS}; "
            "correct it (the set's prototypes, with a number of processors, are another form)"
        )
    count = numbers[0] + 2
    if len(rows) != count:
        raise ValueError(
            f"{path}, line {first}: {numbers[0]} tasks and two dummies have {count} lines, not {len(rows)}; "
            "correct the number, or the lines"
        )
    sources, targets = [], []
    for task, (number, row) in enumerate(rows):
        if len(row) < 3 or row[0] != task or row[1] < 0 or row[2] != len(row) - 3:
            raise ValueError(
                f"{path}, line {number}: this is not task {task} with its run time, the number of its predecessors and "
                "their numbers; correct it (graphs with communication costs are another form)"
            )
        if wrong := [before for before in row[3:] if not 0 <= before < count]:
            raise ValueError(f"{path}, line {number}: there is no task {wrong[0]}, only 0 to {count - 1}; correct it")
        sources += row[3:]
        targets += [task] * row[2]
    tasks = Tasks(
        names=[f"task {task}" for task in range(count)],
        seconds=np.array([row[1] for _, row in rows], float),
        sources=np.array(sources, np.int64),
        targets=np.array(targets, np.int64),
        sizes=np.zeros(len(sources)),
    )
    note = "a unit of time counts as a second, and results are on every device at once"
    return TaskGraph(*graph_of_file(path, "stg", tasks), link=FREE, notes=(note,))


def _integers(path: Path, number: int, words: list[str]) -> list[int]:
    for word in words:
        if not (word.isascii() and word.removeprefix("-").isdecimal() and len(word) <= _DIGITS):
            reason = f"{word[:40]!r} is no integer of at most {_DIGITS} digits"
            raise ValueError(f"{path}, line {number}: {reason}; correct it")
    return [int(word) for word in words]
