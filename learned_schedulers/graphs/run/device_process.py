"""A device: a process, pinned to one core, that runs its part of schedules at the same time as the other device."""

from __future__ import annotations

import gc
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

import numpy as np
import torch

from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.run.computations import Costs, StampedComputations
from learned_schedulers.graphs.run.programs import Step, program
from learned_schedulers.graphs.run.shared_memory import Layout, SharedMemory


@dataclass(frozen=True)
class Task:
    """Schedules of a graph, and the sequence in which both devices run them."""

    parents: Edges
    costs: Costs
    orders: np.ndarray  # (S, n)
    placements: np.ndarray  # (S, n)
    sequence: np.ndarray  # (R,) schedule of each run
    limit_seconds: float  # longest time that a device waits for the other one

    @property
    def layout(self) -> Layout:
        return Layout(len(self.sequence), self.costs.written)


def serve(connection: Connection, device: int, core: int) -> None:
    """Run all tasks that arrive until the connection ends; answer each with an error message, "" without an error."""
    os.sched_setaffinity(0, {core})
    torch.set_num_threads(1)
    connection.send("")
    while True:
        try:
            task: Task = connection.recv()
            descriptor = recv_handle(connection)
        except EOFError:
            return
        try:
            _Device(task, SharedMemory(task.layout, descriptor), device).run()
            answer = ""
        except (TimeoutError, MemoryError, RuntimeError, ValueError) as error:
            answer = f"{type(error).__name__}: {error}"
        os.close(descriptor)
        connection.send(answer)


class _Device:
    def __init__(self, task: Task, shared: SharedMemory, device: int) -> None:
        self._task, self._shared, self._device = task, shared, device
        self._limit = int(task.limit_seconds * 1e9)

    def run(self) -> None:
        """Execute all runs, with the garbage collector off."""
        computations = StampedComputations(self._task.costs, self._shared, self._device)
        programs = [
            (program(self._task.parents, order, placement, self._device), computations.readable(placement))
            for order, placement in zip(self._task.orders, self._task.placements, strict=True)
        ]
        gc.disable()
        try:
            for run, schedule in enumerate(self._task.sequence.tolist()):
                self._run(run, computations, *programs[schedule])
        finally:
            gc.enable()

    def _run(
        self, run: int, computations: StampedComputations, steps: list[Step], readable: Sequence[np.ndarray]
    ) -> None:
        shared, now = self._shared, time.monotonic_ns
        begins, ends = shared.begins[run], shared.ends[run]
        shared.arrived[run, self._device] = now()
        self._wait(shared.arrived[run], 1 - self._device)
        switches_before = _switches()
        for step in steps:
            i = step.operation
            for parent in step.fetched:
                self._wait(ends, parent)
            begins[i] = now()
            computations.compute(step, run, readable)
            ends[i] = now()
        shared.disturbances[run, self._device] = _switches() - switches_before

    def _wait(self, moments: np.ndarray, index: int) -> None:
        """Wait until moments[index] is set. Meanwhile other processes may use this core.

        Raises TimeoutError after the time limit.
        """
        until = time.monotonic_ns() + self._limit
        while not moments[index]:
            os.sched_yield()
            if time.monotonic_ns() > until:
                raise TimeoutError(f"device {1 - self._device} does not answer")


def _switches() -> int:
    """Number of times that another process has taken this process's core, by preemption or while this one yielded."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
