"""Judges in plain Python, which know only what a user's file says and what the command has written."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soak.calling import Difference
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.projects.problem import Project

_ROUNDING = 2e-9  # seconds: a trace has whole nanoseconds, and each end is rounded


def check_trace(path: Path, problem: Problem) -> tuple[list[int], float]:
    """The device of each operation in a trace, and its makespan in seconds.

    Raises Difference unless every operation runs once, for its time, after all that it reads has arrived, and alone on
    its device.
    """
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X" and not event["pid"]]
    runs = {event["args"]["operation"]: event for event in events}
    n = len(problem)
    if sorted(runs) != list(range(n)) or len(events) != n:
        raise Difference(f"{path.name} has {len(events)} operations, not each of {n} once")
    begins = [runs[i]["ts"] / 1e6 for i in range(n)]
    ends = [(runs[i]["ts"] + runs[i]["dur"]) / 1e6 for i in range(n)]
    devices = [int(runs[i]["tid"]) for i in range(n)]
    if not set(devices) <= set(range(problem.devices)):
        raise Difference(f"{path.name} names devices {sorted(set(devices))} of {problem.devices}")
    late = _ROUNDING + 1e-9 * max(ends, default=0.0)
    for i in range(n):
        if abs(ends[i] - begins[i] - problem.seconds[i]) > late:
            raise Difference(f"operation {i} runs {ends[i] - begins[i]} s, not {problem.seconds[i]} s")
    for parent, child in zip(problem.children.sources.tolist(), problem.children.targets.tolist(), strict=True):
        delay = float(problem.arrays.delays[parent]) if devices[parent] != devices[child] else 0.0
        if begins[child] < ends[parent] + delay - late:
            raise Difference(
                f"operation {child} begins at {begins[child]}, before {parent} arrives: {ends[parent]} + {delay}"
            )
    alone = defaultdict(list)
    for i in range(n):
        alone[devices[i]].append((begins[i], ends[i]))
    for device, times in alone.items():
        times.sort()
        for (_, end), (begin, _) in pairwise(times):
            if begin < end - late:
                raise Difference(f"two operations run on device {device} at {begin}")
    return devices, max(ends, default=0.0)


def check_split(path: Path, source: Source, devices: list[int]) -> None:
    """Raises Difference unless a split has each of the model's operations once, where the trace has it."""
    parts = json.loads(path.read_text())
    places = {node: device for device, part in enumerate(parts["fpgas"]) for node in part["nodes"]}
    listed = source.listed
    expected = {int(number): devices[owner] for number, owner in zip(listed.ids, listed.owners, strict=True)}
    if places != expected or sum(len(part["nodes"]) for part in parts["fpgas"]) != len(expected):
        raise Difference(f"{path.name} and the trace place operations on other devices")


def check_plan(path: Path, source: Source, apart_seconds: float) -> None:
    """Raises Difference for a plan of kernels that cannot run in its order, or costs more than each operation apart."""
    plan = json.loads(path.read_text())
    n, edges = len(source.graph), source.graph.children
    parents = defaultdict(set)
    for parent, child in zip(edges.sources.tolist(), edges.targets.tolist(), strict=True):
        parents[child].add(parent)
    written: set[int] = set()
    computed: set[int] = set()
    for number, kernel in enumerate(plan["kernels"]):
        inside, writes = (_numbers(kernel[key]) for key in ("computes", "writes"))
        if missing := {parent for i in inside for parent in parents[i]} - inside - written:
            raise Difference(f"kernel {number} of {path.name} reads {sorted(missing)[:5]}, which nothing has written")
        if not writes <= inside:
            raise Difference(f"kernel {number} of {path.name} writes what it does not compute")
        written |= writes
        computed |= inside
    results = set(range(n)) - set(edges.sources.tolist())
    if computed != set(range(n)) or not results <= written:
        raise Difference(f"{path.name} lacks operations or results")
    total = sum(kernel["seconds"] for kernel in plan["kernels"])
    if abs(total - plan["seconds"]) > 1e-9 * total or total > apart_seconds * (1 + 1e-3):
        raise Difference(f"{path.name}: {plan['seconds']} s, its kernels {total} s, apart {apart_seconds} s")


def _numbers(operations: Iterable[dict[str, Any]]) -> set[int]:
    return {operation["operation"] for operation in operations}


def is_schedule(schedule: dict[str, Any], instance: dict[str, Any]) -> bool:
    """Whether an order and a placement, as JSON, are legal for an instance of the benchmark, as JSON."""
    n, order, placement = len(instance["operations"]), schedule["order"], schedule["placement"]
    if (
        set(schedule) != {"order", "placement"}
        or len(placement) != n
        or any(type(i) is not int for i in order + placement)
    ):
        return False
    if sorted(order) != list(range(n)) or not set(placement) <= set(range(instance["devices"])):
        return False
    slot = np.argsort(order)
    return all(slot[before] < slot[after] for before, after in instance["edges"])


def check_starts(project: Project, starts: np.ndarray) -> int:
    """The makespan of a project's starts, (n,). Raises Difference for starts that break a precedence or a capacity."""
    if len(starts) != len(project) or (starts < 0).any():
        raise Difference(f"{len(starts)} starts of {len(project)} activities, the least {starts.min(initial=0)}")
    ends = [int(start) + int(duration) for start, duration in zip(starts, project.durations, strict=True)]
    for before, after in zip(project.sources.tolist(), project.targets.tolist(), strict=True):
        if starts[after] < ends[before]:
            raise Difference(f"activity {after} starts at {starts[after]}, but {before} ends at {ends[before]}")
    for time in set(starts.tolist()):
        running = [i for i in range(len(project)) if starts[i] <= time < ends[i]]
        if (project.demands[running].sum(0) > project.capacities).any():
            raise Difference(f"at time {time} activities need more than there is")
    return max(ends, default=0)
