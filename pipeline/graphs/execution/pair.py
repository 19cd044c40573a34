"""Two devices: pinned processes that run schedules of a graph, and what becomes of them where one is lost."""

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

from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.execution.computations import Costs
from pipeline.graphs.execution.device_process import Task, serve
from pipeline.graphs.execution.executable import DEVICES, KIND, problem
from pipeline.graphs.execution.programs import stamps
from pipeline.graphs.execution.shared_memory import SharedMemory

_NANO = 1e-9
_START_SECONDS = 120.0  # a process takes to import torch, on a busy machine too


class ExecutionError(ValueError):
    """This machine cannot execute graphs, or has lost a process that did."""


@dataclass(frozen=True)
class Record:
    """What happened in R runs of n operations, in seconds from when both devices were ready."""

    begins: np.ndarray  # (R, n) an operation has all that it waits for; what it copies, it copies now
    ends: np.ndarray  # (R, n)
    disturbances: np.ndarray  # (R,) how often another process had one of the two cores

    @property
    def makespans(self) -> np.ndarray:
        """(R,) seconds to the last end."""
        return self.ends.max(1, initial=0.0)


def two_cores() -> tuple[int, int]:
    """Two cores that this process may use; not two threads of one core where there are others.

    Raises ExecutionError where there is one alone.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < DEVICES:
        raise ExecutionError(
            f"schedules are executed on two cores, and this process may use {len(allowed)} ({allowed}); "
            "start it without taskset, or in a container with two processors"
        )
    first = allowed[0]
    others = [core for core in allowed[1:] if core not in _threads(first)]
    return first, (others or allowed[1:])[0]


def _threads(core: int) -> set[int]:
    """Processors that are threads of the same core, itself included; itself alone where the system does not say."""
    try:
        said = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text()
    except OSError:
        return {core}
    ranges = (part.partition("-") for part in said.strip().split(","))
    return {thread for low, _, high in ranges for thread in range(int(low), int(high or low) + 1)}


class Pair:
    """Two processes, to be used in a `with`. Raises ExecutionError where they do not start, die or stand still."""

    def __init__(self, limit_seconds: float = 60.0) -> None:
        self._limit = limit_seconds
        self.processes: list[BaseProcess] = []
        self._connections: list[Connection] = []
        context = multiprocessing.get_context("spawn")  # a fork would inherit the threads' locks of torch
        for device, core in enumerate(two_cores()):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, device, core), daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)
            self._connections.append(ours)
        self._answers("starting", _START_SECONDS)

    def run(self, executed: Graph, orders: np.ndarray, placements: np.ndarray, sequence: np.ndarray) -> Record:
        """Run schedules of an executable graph one after the other.

        orders, placements: (S, n); sequence: (R,) which schedule each run is of. Raises ValueError where one is no
        schedule, naming it, or the graph is not one of `executable`; OSError where there is too little memory.
        """
        for i, kind in enumerate(executed.kinds):
            if kind != KIND:
                raise ValueError(
                    f"graph {executed.name}: operation {i} is of the kind {kind!r}; "
                    "graphs are executed in the form that the stage coarsen_graphs gives them"
                )
        makespans(problem(executed), orders, placements)
        costs = Costs(executed.flops, executed.bytes_read, executed.bytes_written)
        parents = executed.children.reversed()
        task = Task(parents, costs, orders, placements, sequence, self._limit)
        shared = SharedMemory.create(task.layout)
        what = f"executing graph {executed.name}"
        try:
            for connection, process in zip(self._connections, self.processes, strict=True):
                try:
                    connection.send(task)
                    send_handle(connection, shared.descriptor, process.pid)
                except OSError:
                    self._lose(what, _died(process))
            self._answers(what, self._limit, shared)
        finally:
            os.close(shared.descriptor)
        wrong = np.argwhere(shared.stamps != stamps(parents, np.arange(len(sequence))))
        if len(wrong):
            run, i = wrong[0]
            raise ExecutionError(
                f"graph {executed.name}, schedule {sequence[run]}: operation {i} did not read its parents' results"
            )
        begin = shared.arrived.max(1, keepdims=True)
        return Record((shared.begins - begin) * _NANO, (shared.ends - begin) * _NANO, shared.disturbances.sum(1))

    def _answers(self, what: str, limit: float, shared: SharedMemory | None = None) -> None:
        """Wait until both devices have answered. limit: seconds without progress, which is seen in `shared`."""
        waiting = dict(zip(self._connections, self.processes, strict=True))
        progress = 0
        while waiting:
            ready = wait([*waiting, *(process.sentinel for process in waiting.values())], limit)
            for connection in [connection for connection in waiting if connection in ready]:
                process = waiting.pop(connection)
                if fault := self._answer(connection, process):
                    self._lose(what, fault)
            dead = [p for p in waiting.values() if p.sentinel in ready and not p.is_alive()]
            if dead:
                self._lose(what, _died(dead[0]))
            moved = 0 if shared is None else int(np.count_nonzero(shared.ends))
            if not ready and moved <= progress:
                self._lose(what, f"nothing has happened for {limit:g} seconds")
            progress = moved

    @staticmethod
    def _answer(connection: Connection, process: BaseProcess) -> str:
        try:
            return str(connection.recv())
        except (EOFError, ConnectionError):
            return _died(process)

    def _lose(self, what: str, why: str) -> NoReturn:
        for process in self.processes:
            process.kill()
        self.close()
        raise ExecutionError(f"{what} on two cores: {why}; start again")

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
