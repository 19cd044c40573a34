"""Scheduler nodes as a problem of fusion by cost, and the kernels that Inductor is expected to make of levels.

Unlike XLA, Inductor computes nothing twice: a node is in one kernel, and a result that only its own kernel reads is not
stored. Inductor itself decides which pairs of single nodes it would fuse; we assume that larger kernels may be fused if
one pair of their nodes may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, MachineCosts
from learned_schedulers.graphs.compilers.inductor.nodes import Node
from learned_schedulers.graphs.compilers.kinds import Loop
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan, members
from learned_schedulers.graphs.compilers.rates import Rates
from learned_schedulers.kernel_arrays import read_only


@dataclass(frozen=True)
class InductorProblem:
    """n nodes, and P pairs of them that may be fused, in descending order of the bytes that they save."""

    fusion: FusionProblem
    pairs: np.ndarray  # (P, 2) int64, the earlier node first


def problem_of_nodes(nodes: Sequence[Node], rates: Rates) -> InductorProblem:
    """The problem of nodes in a topological order."""
    numbers = {node.name: i for i, node in enumerate(nodes)}
    edges = sorted((numbers[parent], i) for i, node in enumerate(nodes) for parent in node.parents if parent in numbers)
    sources, targets = np.array(edges, np.int64).reshape(-1, 2).T
    n = len(nodes)
    by_reader = np.lexsort((sources, targets))
    read = [float(nodes[targets[e]].parents[nodes[sources[e]].name]) for e in by_reader]
    library = [node.loop == Loop.LIBRARY for node in nodes]
    fusion = read_only(
        FusionProblem(
            loops=np.where(library, Loop.LIBRARY, Loop.ELEMENTWISE).astype(np.int8),
            expensive=np.array([node.expensive > 0 for node in nodes], bool),
            elsewhere=np.array([node.elsewhere for node in nodes], bool),
            space=np.array([node.elements for node in nodes], np.float64),
            computing=np.array([_arithmetic(node, rates) for node in nodes], np.float64),
            own_read=np.array([node.own_read for node in nodes], np.float64),
            written=np.array([node.written for node in nodes], np.float64),
            parent_offsets=np.r_[0, np.cumsum(np.bincount(targets, minlength=n))].astype(np.int32),
            parents=sources[by_reader].astype(np.int32),
            parent_bytes=np.array(read, np.float64),
            child_offsets=np.r_[0, np.cumsum(np.bincount(sources, minlength=n))].astype(np.int32),
            children=targets.astype(np.int32),
            machine=MachineCosts.of(rates),
        )
    )
    scored = [(-score, i, numbers[name]) for i, node in enumerate(nodes) for name, score in node.fusable.items()]
    return InductorProblem(fusion, np.array([pair[1:] for pair in sorted(scored)], np.int64).reshape(-1, 2))


def _arithmetic(node: Node, rates: Rates) -> float:
    """Seconds of arithmetic of a node."""
    if node.loop == Loop.LIBRARY:
        return node.flops / rates.library_flops_per_second
    element_seconds = node.simple / rates.simple_per_second + node.expensive / rates.expensive_per_second
    if node.loop == Loop.REDUCTION:
        element_seconds += 1 / rates.reduced_per_second
    if node.loop == Loop.MOVEMENT:
        element_seconds += 1 / rates.moved_per_second
    return node.elements * element_seconds


def plan_of_levels(problem: InductorProblem, levels: np.ndarray) -> Plan:
    """The kernels of levels, (n,): pairs of equal level above 0 are fused unless kernels would wait for each other."""
    fusion = problem.fusion
    if not len(problem.pairs):
        return Plan(np.arange(fusion.n, dtype=np.int64))
    order = np.argsort(-levels[problem.pairs[:, 0]].astype(np.int64), kind="stable")
    kernel = _fused(fusion.child_offsets, fusion.children, problem.pairs[order], levels)
    return Plan(_only_read_inside(fusion, kernel))


def levels_of_plan(problem: FusionProblem, plan: Plan) -> np.ndarray:
    """Levels that lead to the kernels of a plan, (n,) int64: a distinct level for each kernel of several nodes."""
    levels = np.zeros(problem.n, np.int64)
    groups = [sorted(inside) for inside in members(problem, plan).values() if len(inside) > 1]
    for number, group in enumerate(sorted(groups)):
        levels[group] = number + 1
    return levels


@njit(cache=True, nogil=True)
def _fused(offsets: np.ndarray, children: np.ndarray, pairs: np.ndarray, levels: np.ndarray) -> np.ndarray:
    n = len(levels)
    kernel = np.arange(n)
    for a, b in pairs:
        first, second = kernel[a], kernel[b]
        if first == second or levels[a] == 0 or levels[a] != levels[b]:
            continue
        if _path(offsets, children, kernel, first, second) or _path(offsets, children, kernel, second, first):
            continue
        low = min(first, second)
        for i in range(n):
            if kernel[i] == first or kernel[i] == second:
                kernel[i] = low
    return kernel


@njit(cache=True, nogil=True)
def _path(offsets: np.ndarray, children: np.ndarray, kernel: np.ndarray, begin: int, end: int) -> bool:
    """Whether a path leads from one kernel to another through a third."""
    n = len(kernel)
    reached = np.zeros(n, np.bool_)
    pending = np.empty(n, np.int64)
    pending[0], count = begin, 1
    while count:
        count -= 1
        current = pending[count]
        for i in range(n):
            if kernel[i] == current:
                for edge in range(offsets[i], offsets[i + 1]):
                    reader = kernel[children[edge]]
                    if reader == end and current != begin:
                        return True
                    if reader != end and reader != begin and not reached[reader]:
                        reached[reader] = True
                        pending[count] = reader
                        count += 1
    return False


def _only_read_inside(problem: FusionProblem, kernel: np.ndarray) -> np.ndarray:
    """`kernel` without results that only their own kernel reads; a kernel's number is its first stored result."""
    plan = kernel.copy()
    for i in range(problem.n):
        readers = problem.children[problem.child_offsets[i] : problem.child_offsets[i + 1]]
        if len(readers) and (kernel[readers] == kernel[i]).all():
            plan[i] = NOT_WRITTEN
    for number in np.unique(plan[plan != NOT_WRITTEN]):
        stored = np.flatnonzero(plan == number)
        plan[stored] = stored[0]
    return plan
