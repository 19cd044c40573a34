"""The executable form of a graph: merged operations, each a matrix product, a sweep over memory and a result.

An operation of the original graph is bound by arithmetic or by memory (by the roofline of one core of this machine). A
merged operation multiplies matrices with the FLOPs of its arithmetic-bound members, sweeps over as much memory as its
memory-bound members read and write, and writes a result as large as the data that its children outside the group need.
One factor scales all work, like a larger or smaller batch; another factor scales the results
(`Coarsening.copy_run_times`).

The form loses the original kernels (a convolution becomes a matrix product) and the parallelism within a group. A child
waits for a whole group and copies its whole result, even if it needs the result of only one member.
"""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from learned_schedulers.graphs.run.coarsening import groups
from learned_schedulers.graphs.run.settings import Coarsening, Machine

KIND = "product, sweep, result"
VARIANT = "executable"
DEVICES = 2


def executable(original: Graph, settings: Coarsening) -> Graph:
    """The executable graph: n' <= n operations of at least `least_seconds`.

    `flops` counts those of products, `bytes_read` the bytes of sweeps, `bytes_written` the bytes that a child on the
    other core copies; `seconds` follows from these by the rates of the settings. For a graph with measured or drawn run
    times, the products take these times. Raises ValueError that names the graph if it has no work to scale.
    """
    machine = settings.machine
    flops, swept = _work(original, machine)
    seconds = flops / machine.flops_per_second + swept / machine.bytes_per_second
    if not seconds.sum() > 0:
        raise ValueError(f"graph {original.name}: its operations have no FLOPs, bytes or seconds: nothing to execute")
    factor = settings.graph_seconds / float(seconds.sum())
    group = groups(seconds * factor, original.children, settings.least_seconds)
    count = int(group.max()) + 1
    sources, targets = group[original.children.sources], group[original.children.targets]
    between = sources != targets

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(group, values, count)

    sent = np.zeros(len(original), bool)
    sent[original.children.sources[between]] = True
    written = total(np.where(sent, original.bytes_written, 0))
    copied = settings.copy_run_times * settings.graph_seconds * machine.copied_bytes_per_second  # bytes of all results
    executed_flops, executed_bytes = total(flops) * factor, np.rint(total(swept) * factor)
    results = np.rint(written * (copied / max(float(written.sum()), 1.0)))
    operations = Operations(
        kinds=[KIND] * count,
        flops=executed_flops,
        bytes_read=executed_bytes,
        bytes_written=results,
        bytes_kept=total(original.bytes_kept),
        layers=_layers(original, group, seconds),
        seconds=predicted(executed_flops, executed_bytes, results, machine),
    )
    name, family = f"{original.name}_executable", original.family
    return graph(name, family, VARIANT, operations, sources[between], targets[between])[0]


def predicted(flops: np.ndarray, swept: np.ndarray, written: np.ndarray, machine: Machine) -> np.ndarray:
    """(n,) seconds of operations on one core, without copies from the other core."""
    return machine.operation_seconds + flops / machine.flops_per_second + (swept + written) / machine.bytes_per_second


def problem(executed: Graph) -> Problem:
    """What a method sees of an executed graph: its problem on two devices."""
    return Problem(executed.seconds, executed.bytes_written.astype(np.float64), executed.children, DEVICES)


def _work(original: Graph, machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """FLOPs of arithmetic-bound operations and bytes of memory-bound operations, (n,) each, elsewhere 0."""
    if len(original.seconds):
        return original.seconds * machine.flops_per_second, np.zeros(len(original))
    accessed = (original.bytes_read + original.bytes_written).astype(np.float64)
    by_arithmetic = original.flops / machine.flops_per_second >= accessed / machine.bytes_per_second
    return np.where(by_arithmetic, original.flops, 0.0), np.where(by_arithmetic, 0.0, accessed)


def _layers(original: Graph, group: np.ndarray, seconds: np.ndarray) -> list[str]:
    """The layer of each group's longest operation."""
    by_seconds = np.lexsort((-np.arange(len(group)), seconds))
    longest = np.zeros(int(group.max()) + 1, np.int64)
    longest[group[by_seconds]] = by_seconds  # the last assignment stays: the longest operation, of equal ones the first
    return [original.layers[i] for i in longest]
