"""The numbers that the network reads of a problem, and of the schedule to be improved; O(n + E) numbers without units.

Run times and transfers count in mean run times, and memory in that of a device, so that graphs of all sizes look alike.
Names, kinds and layers of operations are not read, as costs contain what a device sees of them (a deviation from the
paper, which embeds the kind).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

from learned_schedulers.graphs.devices.completion import OFFSETS, OPEN, Completion, Decisions
from learned_schedulers.graphs.devices.evaluation import Evaluated
from learned_schedulers.graphs.problems.problem import GraphArrays, Problem

OPERATION_NUMBERS, GRAPH_NUMBERS, SCHEDULE_NUMBERS, DEVICE_NUMBERS = 10, 5, 5, 8


@dataclass(frozen=True)
class Surroundings:
    """A problem as the network reads it."""

    completion: Completion
    operations: Tensor  # (n, OPERATION_NUMBERS + GRAPH_NUMBERS)
    sources: Tensor  # (E,) int64
    targets: Tensor  # (E,) int64

    @staticmethod
    def of(completion: Completion) -> Surroundings:
        problem, delays = completion.problem, completion.problem.delays
        n, unit, path = len(problem), unit_of(problem), max(problem.critical_path, 1e-300)
        memory = device_bytes(problem)
        columns = [
            np.log(problem.seconds / unit + 1e-3),
            np.log(delays / unit + 1e-3),
            np.log1p(100 * problem.weights / memory),
            np.log1p(100 * problem.sizes / memory),
            problem.heads / path,
            problem.tails / path,
            (problem.heads + problem.tails) / path,
            np.log1p(np.diff(problem.children.offsets)),
            np.log1p(np.diff(problem.parents.offsets)),
            completion.lead.urgency,
        ]
        graph_numbers = [
            math.log(n + 1) / 7,
            math.log(max(float(problem.seconds.sum()) / problem.devices / path, 1e-3)),
            problem.devices / 8,
            math.log(float(delays.mean()) / unit + 1e-3),
            float(problem.weights.sum()) / memory / problem.devices,
        ]
        numbers = np.concatenate([np.stack(columns, 1), np.repeat(np.array(graph_numbers)[None], n, 0)], 1)
        edges = problem.children
        return Surroundings(
            completion,
            torch.tensor(numbers, dtype=torch.float32),
            torch.from_numpy(edges.sources.astype(np.int64)),
            torch.from_numpy(edges.targets.astype(np.int64)),
        )


@dataclass(frozen=True)
class Standing:
    """A schedule as the network reads it."""

    operations: Tensor  # (n, SCHEDULE_NUMBERS)
    devices: Tensor  # (n, m, DEVICE_NUMBERS): situation of an operation on each device, if no other operation moves


def standing(surroundings: Surroundings, decisions: Decisions, evaluated: Evaluated) -> Standing:
    """The numbers of one schedule; `decisions` and `evaluated` have S = 1."""
    completion = surroundings.completion
    problem, unit = completion.problem, unit_of(completion.problem)
    n, m = len(problem), problem.devices
    placement, ends = evaluated.placements[0], evaluated.ends[0]
    span = float(evaluated.seconds[0])
    meetings = _Meetings(np.empty(n), *(np.empty((n, m)) for _ in _Meetings._fields[1:]))
    _meet(problem.arrays, m, evaluated.orders[0], placement, ends, meetings)
    slack, ready, due, finish, entering, leaving = meetings
    placed = np.arange(n), placement
    devices = [
        np.eye(m)[placement] * 4,
        (finish - ends[:, None]) / unit,
        (due - finish) / unit,
        (entering - entering[placed][:, None]) / unit,
        (leaving - leaving[placed][:, None]) / unit,
        np.broadcast_to(np.bincount(placement, problem.seconds, m) / max(span, 1e-300) * 4, (n, m)),
        np.broadcast_to(evaluated.peaks[0] / device_bytes(problem) * 4, (n, m)),
        (ready - ready[placed][:, None]) / unit,
    ]
    columns = [
        ends / max(span, 1e-300),
        np.log1p(slack / unit),
        (slack <= 1e-9 * span).astype(float),
        (decisions.devices[0] == OPEN).astype(float),
        OFFSETS[decisions.levels[0]] * 10,
    ]
    squashed = np.stack(devices, 2)
    squashed = np.sign(squashed) * np.log1p(np.abs(squashed)) / 2
    return Standing(
        torch.tensor(np.stack(columns, 1), dtype=torch.float32), torch.tensor(squashed, dtype=torch.float32)
    )


def unit_of(problem: Problem) -> float:
    """The mean run time, in seconds."""
    return float(problem.seconds.mean()) or 1.0


def device_bytes(problem: Problem) -> float:
    """Bytes of a device; without a limit, the most that the graph may need."""
    most = float(problem.weights.sum() + problem.sizes.sum()) or 1.0
    memory = float(problem.memories[0])
    return memory if np.isfinite(memory) and memory > 0 else most


class _Meetings(NamedTuple):
    """Seconds of every operation, (n,), and of every operation on every device, (n, m)."""

    slack: np.ndarray  # (n,) by how much the operation can end later without lengthening the schedule
    ready: np.ndarray  # (n, m) when everything that it reads is on the device
    due: np.ndarray  # (n, m) when it has to end so that nothing is later
    finish: np.ndarray  # (n, m) when it would end, in the first gap of at least half its run time
    entering: np.ndarray  # (n, m) sum of the transfers to it
    leaving: np.ndarray  # (n, m) transfer from it


@njit(cache=True, nogil=True)
def _meet(
    graph: GraphArrays, n_devices: int, order: np.ndarray, placement: np.ndarray, ends: np.ndarray, meetings: _Meetings
) -> None:
    """Fill `meetings` for the schedule (order, placement, ends), (n,) each."""
    parents, parent_offsets = graph.parents, graph.parent_offsets
    children, child_offsets = graph.children, graph.child_offsets
    seconds, delays = graph.seconds[0], graph.delays[0]
    slack, ready, due, finish = meetings.slack, meetings.ready, meetings.due, meetings.finish
    entering, leaving = meetings.entering, meetings.leaving
    n = len(seconds)
    span = ends.max()
    behind = np.full(n, -1, np.int64)  # next operation on the same device
    newest = np.full(n_devices, -1, np.int64)  # last operation so far on each device
    first = np.zeros(n_devices + 1, np.int64)
    for i in range(n):
        first[placement[i] + 1] += 1
    for device in range(n_devices):
        first[device + 1] += first[device]
    places = first.copy()
    sequence, begins, stops = np.empty(n, np.int64), np.empty(n), np.empty(n)  # device by device, by time
    for t in range(n):
        i = order[t]
        device = placement[i]
        if newest[device] >= 0:
            behind[newest[device]] = i
        newest[device] = i
        k = places[device]
        sequence[k], begins[k], stops[k] = i, ends[i] - seconds[i], ends[i]
        places[device] += 1
    latest = np.empty(n)
    for t in range(n - 1, -1, -1):
        i = order[t]
        late = span
        if behind[i] >= 0:
            late = min(late, latest[behind[i]] - seconds[behind[i]])
        for edge in range(child_offsets[i], child_offsets[i + 1]):
            child = children[edge]
            delay = delays[i] if placement[child] != placement[i] else 0.0
            late = min(late, latest[child] - seconds[child] - delay)
        latest[i], slack[i] = late, late - ends[i]
    for i in range(n):
        for device in range(n_devices):
            ready[i, device] = entering[i, device] = leaving[i, device] = 0.0
            due[i, device] = span
            for edge in range(parent_offsets[i], parent_offsets[i + 1]):
                parent = parents[edge]
                arrives = ends[parent]
                if placement[parent] != device:
                    arrives += delays[parent]
                    entering[i, device] += delays[parent]
                ready[i, device] = max(ready[i, device], arrives)
            for edge in range(child_offsets[i], child_offsets[i + 1]):
                child = children[edge]
                late = latest[child] - seconds[child]
                if placement[child] != device:
                    late -= delays[i]
                    leaving[i, device] = delays[i]
                due[i, device] = min(due[i, device], late)
            time = ready[i, device]
            low, high = first[device], first[device + 1]
            while low < high:  # binary search: the first operation that ends after `time`
                middle = (low + high) // 2
                if stops[middle] <= time:
                    low = middle + 1
                else:
                    high = middle
            for k in range(low, first[device + 1]):
                if sequence[k] == i:
                    continue
                if begins[k] - time >= seconds[i] / 2:
                    break
                time = max(time, stops[k])
            finish[i, device] = time + seconds[i]
