"""A computation graph as a fusing compiler sees it: loops, their arithmetic, the bytes that they move, and edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learned_schedulers.graphs.compilers.kinds import GATHERS, Loop, is_expensive, loop, reads_elsewhere
from learned_schedulers.graphs.compilers.rates import Rates
from learned_schedulers.graphs.problems.problem import Edges
from learned_schedulers.graphs.read.graph import Graph
from learned_schedulers.kernel_arrays import read_only

ELEMENT_BYTES = 4  # float32, as in all exported graphs


class MachineCosts(NamedTuple):
    """Costs of kernels on a machine, apart from arithmetic."""

    launch_seconds: float
    cache_bytes: float  # bytes of a kernel that move at the cache's rate; all further bytes move at the memory's rate
    cache_seconds_per_byte: float
    memory_seconds_per_byte: float

    @staticmethod
    def of(rates: Rates) -> MachineCosts:
        return MachineCosts(
            launch_seconds=float(rates.launch_seconds),
            cache_bytes=float(rates.cache_bytes),
            cache_seconds_per_byte=float(1 / rates.cache_bytes_per_second),
            memory_seconds_per_byte=float(1 / rates.memory_bytes_per_second),
        )


class FusionProblem(NamedTuple):
    """n operations in a topological order and E edges, as flat arrays for compiled code."""

    loops: np.ndarray  # (n,) int8, values of Loop
    expensive: np.ndarray  # (n,) bool: XLA's rules do not compute the operation twice
    elsewhere: np.ndarray  # (n,) bool: the operation reads at other positions than it writes
    space: np.ndarray  # (n,) float64: number of elements that its loop runs over
    computing: np.ndarray  # (n,) float64 seconds of arithmetic
    own_read: np.ndarray  # (n,) float64 bytes that no operation wrote (weights, inputs of the network)
    written: np.ndarray  # (n,) float64 bytes
    parent_offsets: np.ndarray  # (n + 1,) int32
    parents: np.ndarray  # (E,) int32
    parent_bytes: np.ndarray  # (E,) float64: bytes that are read of this parent's result
    child_offsets: np.ndarray  # (n + 1,) int32
    children: np.ndarray  # (E,) int32
    machine: MachineCosts

    @property
    def n(self) -> int:
        return len(self.loops)

    @property
    def edges(self) -> Edges:
        """Edges from producers to readers."""
        return Edges(self.child_offsets, self.children)


def fusion_problem(graph: Graph, rates: Rates) -> FusionProblem:
    """The problem of a graph on a machine.

    The table `graphs` has no shapes. So the loop of an operation runs over as many elements as it has FLOPs (one FLOP
    for each element of its largest tensor, graphs/read/export.py); if it only moves data, over the elements that it
    writes. If an operation reads less than its parents wrote, it reads the same share of each parent.
    """
    kinds, n = graph.kinds, len(graph)
    loops = np.array([loop(kind) for kind in kinds], np.int8)
    expensive = np.array([is_expensive(kind) for kind in kinds], bool)
    written = graph.bytes_written.astype(np.float64)
    read = graph.bytes_read.astype(np.float64)
    gathers = np.array([kind in GATHERS for kind in kinds], bool)
    read = np.where(gathers, np.minimum(read, 2 * written), read)  # a gather does not read the whole table
    space = np.where(loops == Loop.MOVEMENT, written / ELEMENT_BYTES, graph.flops)
    rate = np.select(
        [loops == Loop.LIBRARY, loops == Loop.REDUCTION, loops == Loop.MOVEMENT, expensive],
        [rates.library_flops_per_second, rates.reduced_per_second, rates.moved_per_second, rates.expensive_per_second],
        rates.simple_per_second,
    )
    parents = graph.children.reversed()
    readers = np.repeat(np.arange(n), np.diff(parents.offsets))
    from_parents = np.bincount(readers, written[parents.targets], n)
    share = np.minimum(1.0, np.divide(read, from_parents, out=np.ones(n), where=from_parents > 0))
    return read_only(
        FusionProblem(
            loops=loops,
            expensive=expensive,
            elsewhere=np.array([reads_elsewhere(kind) for kind in kinds], bool),
            space=space,
            computing=space / rate,
            own_read=np.maximum(read - from_parents, 0.0),
            written=written,
            parent_offsets=parents.offsets,
            parents=parents.targets,
            parent_bytes=written[parents.targets] * share[readers],
            child_offsets=graph.children.offsets,
            children=graph.children.targets,
            machine=MachineCosts.of(rates),
        )
    )
