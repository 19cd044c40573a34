"""Two devices: pinned processes that run schedules of a graph, and the handling of their failures."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import send_handle
from pathlib import Path
from typing import NoReturn, Self

import numpy as np

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.graphs.run.computations import Costs
from learned_schedulers.graphs.run.device_process import Task, serve
from learned_schedulers.graphs.run.executable import DEVICES, KIND, problem
from learned_schedulers.graphs.run.programs import stamps
from learned_schedulers.graphs.run.shared_memory import SharedMemory

_NANO = 1e-9
_START_SECONDS = 120.0  # enough for a process to import torch on a busy machine


class ExecutionError(ValueError):
    """This machine cannot execute graphs, or a process that executes them has failed."""


@dataclass(frozen=True)
class Record:
    """Times of R runs of n operations, in seconds since both devices were ready."""

    begins: np.ndarray  # (R, n) an operation's inputs are ready; it starts to copy those from the other device
    ends: np.ndarray  # (R, n)
    disturbances: np.ndarray  # (R,) number of times that another process used one of the two cores

    @property
    def makespans(self) -> np.ndarray:
        """(R,) seconds to the last end."""
        return self.ends.max(1, initial=0.0)


def two_cores() -> tuple[int, int]:
    """Two cores that this process may use; two threads of the same core only if there is no other choice.

    Raises ExecutionError if there is only one.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < DEVICES:
        raise ExecutionError(
            f"schedules are executed on two cores, and this process may use {len(allowed)} ({allowed}); "
            "start it without taskset, or in a container with two processors"
        )
    first_core = allowed[0]
    separate = [core for core in allowed[1:] if core not in _threads(first_core)]
    return first_core, (separate or allowed[1:])[0]


def _threads(core: int) -> set[int]:
    """Hardware threads of the same core, including `core`; only `core` if the system does not tell."""
    try:
        siblings = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text()
    except OSError:
        return {core}
    ranges = (part.partition("-") for part in siblings.strip().split(","))
    return {thread for low, _, high in ranges for thread in range(int(low), int(high or low) + 1)}


class Pair:
    """Two processes, to be used in a `with`. Raises ExecutionError if one does not start, dies or makes no progress."""

    def __init__(self, limit_seconds: float = 60.0) -> None:
        self._limit = limit_seconds
        self.processes: list[BaseProcess] = []
        self._connections: list[Connection] = []
        context = multiprocessing.get_context("spawn")  # a fork would inherit the locks of torch's threads
        for device, core in enumerate(two_cores()):
            connection, child_connection = context.Pipe()
            process = context.Process(target=serve, args=(child_connection, device, core), daemon=True)
            process.start()
            child_connection.close()
            self.processes.append(process)
            self._connections.append(connection)
        self._wait_for_answers("starting", _START_SECONDS)

    def run(self, executed: Graph, orders: np.ndarray, placements: np.ndarray, sequence: np.ndarray) -> Record:
        """Run schedules of an executable graph one after the other.

        orders, placements: (S, n); sequence: (R,) schedule of each run. Raises ValueError that names an invalid
        schedule, or says that the graph is not the result of `executable`; OSError if there is too little memory.
        """
        for i, kind in enumerate(executed.kinds):
            if kind != KIND:
                raise ValueError(
                    f"graph {executed.name}: operation {i} is of the kind {kind!r}; "
                    "bring the graph into its executable form by the stage coarsen_graphs"
                )
        makespans(problem(executed), orders, placements)
        costs = Costs(executed.flops, executed.bytes_read, executed.bytes_written)
        parents = executed.children.reversed()
        task = Task(parents, costs, orders, placements, sequence, self._limit)
        shared = self._execute(task, f"executing graph {executed.name}")
        wrong = np.argwhere(shared.stamps != stamps(parents, np.arange(len(sequence))))
        if len(wrong):
            run, i = wrong[0]
            raise ExecutionError(
                f"graph {executed.name}, schedule {sequence[run]}: operation {i} did not read its parents' results"
            )
        begin = shared.arrived.max(1, keepdims=True)
        begins, ends = (shared.begins - begin) * _NANO, (shared.ends - begin) * _NANO
        return Record(begins, ends, shared.disturbances.sum(1))

    def _execute(self, task: Task, activity: str) -> SharedMemory:
        """The memory with a task's times and results. activity: what messages call it."""
        shared = SharedMemory.create(task.layout)
        try:
            for connection, process in zip(self._connections, self.processes, strict=True):
                try:
                    connection.send(task)
                    send_handle(connection, shared.descriptor, process.pid)
                except OSError:
                    self._fail(activity, _died(process))
            self._wait_for_answers(activity, task.limit_seconds, shared)
        finally:
            os.close(shared.descriptor)
        return shared

    def _wait_for_answers(self, activity: str, limit: float, shared: SharedMemory | None = None) -> None:
        """Wait until both devices have answered. limit: longest time in seconds without progress in `shared`."""
        waiting = dict(zip(self._connections, self.processes, strict=True))
        progress = 0
        while waiting:
            ready = wait([*waiting, *(process.sentinel for process in waiting.values())], limit)
            for connection in [connection for connection in waiting if connection in ready]:
                process = waiting.pop(connection)
                if fault := self._answer(connection, process):
                    self._fail(activity, fault)
            dead = [p for p in waiting.values() if p.sentinel in ready and not p.is_alive()]
            if dead:
                self._fail(activity, _died(dead[0]))
            ended = 0 if shared is None else int(np.count_nonzero(shared.ends))
            if not ready and ended <= progress:
                self._fail(activity, f"nothing has happened for {limit:g} seconds")
            progress = ended

    @staticmethod
    def _answer(connection: Connection, process: BaseProcess) -> str:
        try:
            return str(connection.recv())
        except (EOFError, ConnectionError):
            return _died(process)

    def _fail(self, activity: str, reason: str) -> NoReturn:
        for process in self.processes:
            process.kill()
        self.close()
        raise ExecutionError(f"{activity} on two cores: {reason}; start again")

    def close(self) -> None:
        """End both processes."""
        for connection in self._connections:
            connection.close()
        for process in self.processes:
            process.join(1)
            if process.is_alive():
                process.kill()
                process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _died(process: BaseProcess) -> str:
    process.join(5)
    return f"a process died with code {process.exitcode}"
