"""A computation graph as a fusing compiler sees it: loops, what they compute and move, who reads whom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipeline.graphs.compilers.kinds import GATHERS, Loop, is_expensive, loop, reads_elsewhere
from pipeline.graphs.compilers.rates import Rates
from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.problems.problem import Edges

ELEMENT_BYTES = 4  # float32, as everything here


class FusionProblem(NamedTuple):
    """n operations in a topological order and E edges, as flat arrays that compiled code takes.

    What an operation reads that no other operation wrote (weights, inputs of the network) is `own_read`.
    """

    loops: np.ndarray  # (n,) int8, of Loop
    expensive: np.ndarray  # (n,) bool: not to be computed twice, by XLA's rules
    elsewhere: np.ndarray  # (n,) bool: reads at other positions than it writes
    space: np.ndarray  # (n,) float64: elements that its loop runs over
    computing: np.ndarray  # (n,) float64 seconds of arithmetic
    own_read: np.ndarray  # (n,) float64 bytes
    written: np.ndarray  # (n,) float64 bytes
    parent_offsets: np.ndarray  # (n + 1,) int32
    parents: np.ndarray  # (E,) int32
    parent_bytes: np.ndarray  # (E,) float64: bytes of that parent's result that are read
    child_offsets: np.ndarray  # (n + 1,) int32
    children: np.ndarray  # (E,) int32
    machine: np.ndarray  # (4,) seconds of a launch, bytes of the cache, seconds a byte in it and beyond

    @property
    def n(self) -> int:
        return len(self.loops)

    @property
    def edges(self) -> Edges:
        """From producers to readers."""
        return Edges(self.child_offsets, self.children)


def fusion_problem(graph: Graph, rates: Rates) -> FusionProblem:
    """The problem of a graph on a machine.

    The table `graphs` has no shapes. So an operation runs over its FLOPs' number of elements (one FLOP for each element
    of its largest tensor, graphs/corpus/export.py), one that moves data over those that it writes; and where it reads
    less than all that its parents wrote, it reads the same share of each.
    """
    kinds, n = graph.kinds, len(graph)
    loops = np.array([loop(kind) for kind in kinds], np.int8)
    expensive = np.array([is_expensive(kind) for kind in kinds], bool)
    written = graph.bytes_written.astype(np.float64)
    read = graph.bytes_read.astype(np.float64)
    gathers = np.array([kind in GATHERS for kind in kinds], bool)
    read = np.where(gathers, np.minimum(read, 2 * written), read)  # not the whole table
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
    return FusionProblem(
        loops,
        expensive,
        np.array([reads_elsewhere(kind) for kind in kinds], bool),
        space,
        space / rate,
        np.maximum(read - from_parents, 0.0),
        written,
        parents.offsets,
        parents.targets,
        written[parents.targets] * share[readers],
        graph.children.offsets,
        graph.children.targets,
        np.array(
            [
                rates.launch_seconds,
                rates.cache_bytes,
                1 / rates.cache_bytes_per_second,
                1 / rates.memory_bytes_per_second,
            ]
        ),
    )
