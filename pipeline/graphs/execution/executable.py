"""The form of a graph that is executed: merged operations, of which each is a product, a sweep and a result.

An operation of the original is bound by arithmetic or by memory (the roofline of one core here). A merged operation
multiplies matrices with the FLOPs of its members of the first kind, sweeps over as much memory as its members of the
second kind read and write, and writes a result as large as what its children outside the group need. Work is scaled
by one factor, as a larger or smaller batch would scale it, and results by another (`Coarsening.copy_run_times`).

What is lost: what the kernels were (a convolution is a product of matrices here); parallelism within a group; and a
child waits for a whole group, and copies all that the group hands out, even where it needs one member's result.
"""

from __future__ import annotations

import numpy as np

from pipeline.config.execution import Coarsening, Machine
from pipeline.graphs.corpus.graph import Graph, Operations, graph
from pipeline.graphs.execution.coarsening import groups
from pipeline.graphs.problems.problem import Problem

KIND = "product, sweep, result"
VARIANT = "executable"
DEVICES = 2


def executable(original: Graph, settings: Coarsening) -> Graph:
    """The graph as it is executed, n' <= n operations of `least_seconds` and more.

    Its `flops` are those of products, `bytes_read` what is swept over, `bytes_written` what a child on the other core
    copies, `seconds` what all this takes by the rates of the settings. A graph whose run times are measured or drawn
    has products of as many seconds. Raises ValueError naming the graph where it has no work to scale.
    """
    machine = settings.machine
    flops, swept = _work(original, machine)
    seconds = flops / machine.flops_per_second + swept / machine.bytes_per_second
    if not seconds.sum() > 0:
        raise ValueError(f"graph {original.name}: its operations have no FLOPs, bytes or seconds: nothing to execute")
    factor = settings.graph_seconds / float(seconds.sum())
    of = groups(seconds * factor, original.children, settings.least_seconds)
    count = int(of.max()) + 1
    sources, targets = of[original.children.sources], of[original.children.targets]
    between = sources != targets

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(of, values, count)

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
        layers=_layers(original, of, seconds),
        seconds=predicted(executed_flops, executed_bytes, results, machine),
    )
    name, family = f"{original.name}_executable", original.family
    return graph(name, family, VARIANT, operations, sources[between], targets[between])[0]


def predicted(flops: np.ndarray, swept: np.ndarray, written: np.ndarray, machine: Machine) -> np.ndarray:
    """(n,) seconds of operations on one core, without what they copy from the other one."""
    return machine.operation_seconds + flops / machine.flops_per_second + (swept + written) / machine.bytes_per_second


def problem(executed: Graph) -> Problem:
    """What a method sees of a graph that is executed: two devices."""
    return Problem(executed.seconds, executed.bytes_written.astype(np.float64), executed.children, DEVICES)


def _work(original: Graph, machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """FLOPs of the operations that arithmetic binds and bytes of those that memory binds, (n,) each, others 0."""
    if len(original.seconds):
        return original.seconds * machine.flops_per_second, np.zeros(len(original))
    moved = (original.bytes_read + original.bytes_written).astype(np.float64)
    by_arithmetic = original.flops / machine.flops_per_second >= moved / machine.bytes_per_second
    return np.where(by_arithmetic, original.flops, 0.0), np.where(by_arithmetic, 0.0, moved)


def _layers(original: Graph, of: np.ndarray, seconds: np.ndarray) -> list[str]:
    """The layer of each group's longest operation."""
    by_seconds = np.lexsort((-np.arange(len(of)), seconds))
    longest = np.zeros(int(of.max()) + 1, np.int64)
    longest[of[by_seconds]] = by_seconds  # of several the last one stays: the longest, of equals the first
    return [original.layers[i] for i in longest]
