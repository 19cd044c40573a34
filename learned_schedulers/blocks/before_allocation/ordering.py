"""Functions of intermediate code -> orders of their blocks that are better, by LLVM's counts or by cycles here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from threading import Event
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.before_allocation.by_counts import by_counts
from learned_schedulers.blocks.before_allocation.counts import Counts, counts
from learned_schedulers.blocks.before_allocation.functions import Function, functions
from learned_schedulers.blocks.before_allocation.llvm import Emitter
from learned_schedulers.blocks.before_allocation.opened import Module, Opened, opened
from learned_schedulers.blocks.before_allocation.searched import Limits, Searched


class Compiled(NamedTuple):
    """The assembly of a module, and the counts of its functions."""

    assembly: str
    counts: dict[str, Counts]


def compiled(emitter: Emitter, text: str, name: str) -> Compiled:
    """A module, compiled. Raises LlvmError that names the file."""
    assembly = emitter.assembly(text, name)
    return Compiled(assembly, counts(assembly))


def search(text: str, standing: Compiled, processor: str, limits: Limits, seed: int) -> Iterator[Searched]:
    """Each function that is worth it, or that has blocks which must stay, in any sequence.

    standing: the module as it stands. Without a limit of time and without measurements, the same seed gives the same
    orders, whatever the number of processes. Raises OracleError if functions are to be measured, and no process can be
    confined.
    """
    module = Module.of(text)
    jobs: list[_Job] = []
    for number, function in enumerate(functions(text)):
        if (before := standing.counts.get(function.symbol)) is None:
            yield Searched(function.symbol, [], {}, ["LLVM writes no code for it, or not under its name"])
        elif limits.every or before.spills or before.reloads:
            jobs.append(_Job(module, function, before, (seed, number)))
    if limits.measured:
        left = []
        for answer in _measured(jobs, limits):
            if isinstance(answer, _Job):
                left.append(answer)
            else:
                yield answer
        jobs = left
    yield from _counted(jobs, processor, limits)


class _Job(NamedTuple):
    """A function to be searched."""

    module: Module
    function: Function
    standing: Counts
    seed: tuple[int, int]
    not_measured: str = ""

    def opened(self, emitter: Emitter) -> Opened:
        """The function alone."""
        return opened(self.module, self.function, emitter, self.standing)


def _measured(jobs: list[_Job], limits: Limits) -> Iterator[Searched | _Job]:
    """Functions one after the other, while nothing else runs; a job that cannot be measured, with the reason."""
    from learned_schedulers.blocks.before_allocation.by_cycles import Bench, by_cycles  # slow to import
    from learned_schedulers.blocks.before_allocation.conditions import NotRunning
    from learned_schedulers.blocks.run.native import Native

    with Native() as native, Bench(native) as bench:
        for job in jobs:
            try:
                yield by_cycles(job.opened(bench.emitter), bench, limits, np.random.default_rng([*job.seed, 1]))
            except NotRunning as reason:
                yield job._replace(not_measured=str(reason))


def _counted(jobs: list[_Job], processor: str, limits: Limits) -> Iterator[Searched]:
    """Functions side by side."""
    stop, emitters = Event(), SimpleQueue[Emitter]()
    workers = len(os.sched_getaffinity(0))

    def task(job: _Job) -> Searched:
        emitter = emitters.get()
        try:
            answer = by_counts(job.opened(emitter), emitter, limits, stop, np.random.default_rng(job.seed))
            return answer._replace(not_measured=job.not_measured)
        finally:
            emitters.put(emitter)

    every = [Emitter(processor=processor) for _ in range(workers)]
    for emitter in every:
        emitters.put(emitter)
    pool = ThreadPoolExecutor(workers)
    try:
        for future in as_completed([pool.submit(task, job) for job in jobs]):
            yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        for emitter in every:
            emitter.__exit__()
