"""Workflows of WfCommons (Coleman et al. 2022): JSON files in WfFormat 1.4 and 1.5.

Version 1.5 has, in `workflow`, `specification` with `tasks` (`id`, `name`, `parents`, `children`, `inputFiles`,
`outputFiles`) and `files` (`id`, `sizeInBytes`), and `execution` with `tasks` (`id`, `runtimeInSeconds`). Version 1.4
has all in `workflow.tasks`: `name`, `id`, `runtimeInSeconds`, `parents`, `children`, and `files` with `name` or `path`,
`sizeInBytes` and `link` (input or output). Other keys are ignored; machines are: every task takes its measured run time
on every device.

Task A precedes B if A is a parent of B, or B a child of A. The bytes between them are those of A's output files that
are B's input files. Files that no task writes are on every device from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import AliasChoices, Field

from learned_schedulers.graphs.read.json_files import Part, checked
from learned_schedulers.graphs.read.task_graphs import TaskGraph, Tasks, graph_of_file

Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Bytes = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _File(Part):
    name: str = Field(validation_alias=AliasChoices("id", "path", "name"))
    sizeInBytes: Bytes = Field(0.0, validation_alias=AliasChoices("sizeInBytes", "size"))
    link: Literal["input", "output"] = "input"


class _Task(Part):
    name: str = ""
    id: str = ""
    parents: list[str] = Field(default_factory=list)
    children: list[str] = Field(default_factory=list)
    inputFiles: list[str] = Field(default_factory=list)
    outputFiles: list[str] = Field(default_factory=list)
    files: list[_File] = Field(default_factory=list)
    runtimeInSeconds: Seconds | None = Field(None, validation_alias=AliasChoices("runtimeInSeconds", "runtime"))


class _Run(Part):
    id: str
    runtimeInSeconds: Seconds


class _Specification(Part):
    tasks: list[_Task]
    files: list[_File] = Field(default_factory=list)


class _Execution(Part):
    tasks: list[_Run]


class _Workflow(Part):
    specification: _Specification | None = None
    execution: _Execution | None = None
    tasks: list[_Task] | None = None


class _Document(Part):
    workflow: _Workflow


def read_workflow(path: Path, parsed: object) -> TaskGraph:
    """The task graph of a file's JSON. Raises ValueError that names file and task."""
    workflow = checked(_Document, parsed, path).workflow
    specification = workflow.specification or _Specification(tasks=workflow.tasks or [])
    tasks = specification.tasks
    if not tasks:
        raise ValueError(f"{path}: workflow.specification.tasks and workflow.tasks are missing or empty; add tasks")
    names = [task.id or task.name for task in tasks]
    numbers = {name: number for number, name in enumerate(names)}
    if len(numbers) < len(names):
        twice = next(name for number, name in enumerate(names) if numbers[name] != number)
        raise ValueError(f"{path}: the id {twice!r} belongs to more than one task; give each task a different id")
    named = Counter(task.name for task in tasks)  # a name is a reference where it belongs to one task alone
    numbers = {task.name: number for number, task in enumerate(tasks) if task.name and named[task.name] == 1} | numbers
    seconds = _seconds(path, tasks, names, workflow.execution)
    sizes = {file.name: file.sizeInBytes for file in specification.files}
    sizes |= {file.name: file.sizeInBytes for task in tasks for file in task.files}
    pairs = sorted(_pairs(path, tasks, names, numbers))
    reads = [{*task.inputFiles, *(file.name for file in task.files if file.link == "input")} for task in tasks]
    writes = [{*task.outputFiles, *(file.name for file in task.files if file.link == "output")} for task in tasks]
    moved = [sum(sizes.get(name, 0.0) for name in writes[source] & reads[target]) for source, target in pairs]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    edges = (ends[:, 0], ends[:, 1], np.array(moved, float))
    note = "run times are those measured, on any device; what no task writes is on every device from the start"
    return TaskGraph(*graph_of_file(path, "wfcommons", Tasks(names, seconds, *edges)), notes=(note,))


def _seconds(path: Path, tasks: Sequence[_Task], names: Sequence[str], execution: _Execution | None) -> np.ndarray:
    """(n,) run times; those of the execution come first."""
    runs = {run.id: run.runtimeInSeconds for run in (execution.tasks if execution else ())}
    seconds = [runs.get(name, task.runtimeInSeconds) for name, task in zip(names, tasks, strict=True)]
    for name, of_task in zip(names, seconds, strict=True):
        if of_task is None:
            raise ValueError(
                f"{path}: task {name!r} has no runtimeInSeconds; name a workflow that was executed, or add its run time"
            )
    return np.array(seconds, float)


def _pairs(path: Path, tasks: Sequence[_Task], names: Sequence[str], numbers: dict[str, int]) -> set[tuple[int, int]]:
    """Parent and child of each edge."""
    pairs = set()
    for number, task in enumerate(tasks):
        for other in (*task.parents, *task.children):
            if other not in numbers:
                raise ValueError(f"{path}: task {names[number]!r}: there is no task {other!r}; correct the name")
        pairs |= {(numbers[parent], number) for parent in task.parents}
        pairs |= {(number, numbers[child]) for child in task.children}
    return pairs
