"""Scheduler nodes as a problem of fusion by cost, and levels as the kernels that Inductor is expected to make of them.

Unlike XLA, Inductor computes nothing twice: a node is in one kernel, and what is only read inside of it is not stored.
Which pairs it would fuse is asked of Inductor itself, for nodes as they are; that larger kernels may be fused wherever
one pair of their nodes may be is our guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.inductor.nodes import Node
from pipeline.graphs.compilers.kinds import Loop
from pipeline.graphs.compilers.plan import NOT_WRITTEN, Plan, members
from pipeline.graphs.compilers.rates import Rates


@dataclass(frozen=True)
class InductorProblem:
    """n nodes, and P pairs of them that may be fused, those that save most first."""

    fusion: FusionProblem
    pairs: np.ndarray  # (P, 2) int64, the earlier node first


def problem_of_nodes(nodes: Sequence[Node], rates: Rates) -> InductorProblem:
    """The problem of nodes in a topological order."""
    number = {node.name: i for i, node in enumerate(nodes)}
    edges = sorted((number[parent], i) for i, node in enumerate(nodes) for parent in node.parents if parent in number)
    sources, targets = np.array(edges, np.int64).reshape(-1, 2).T
    n = len(nodes)
    by_reader = np.lexsort((sources, targets))
    read = [float(nodes[targets[e]].parents[nodes[sources[e]].name]) for e in by_reader]
    library = [node.loop == Loop.LIBRARY for node in nodes]
    fusion = FusionProblem(
        np.where(library, Loop.LIBRARY, Loop.ELEMENTWISE).astype(np.int8),
        np.array([node.expensive > 0 for node in nodes], bool),
        np.array([node.elsewhere for node in nodes], bool),
        np.array([node.elements for node in nodes], np.float64),
        np.array([_arithmetic(node, rates) for node in nodes], np.float64),
        np.array([node.own_read for node in nodes], np.float64),
        np.array([node.written for node in nodes], np.float64),
        np.r_[0, np.cumsum(np.bincount(targets, minlength=n))].astype(np.int32),
        sources[by_reader].astype(np.int32),
        np.array(read, np.float64),
        np.r_[0, np.cumsum(np.bincount(sources, minlength=n))].astype(np.int32),
        targets.astype(np.int32),
        np.array(
            [
                rates.launch_seconds,
                rates.cache_bytes,
                1 / rates.cache_bytes_per_second,
                1 / rates.memory_bytes_per_second,
            ]
        ),
    )
    scored = [(-score, i, number[other]) for i, node in enumerate(nodes) for other, score in node.fusable.items()]
    return InductorProblem(fusion, np.array([pair[1:] for pair in sorted(scored)], np.int64).reshape(-1, 2))


def _arithmetic(node: Node, rates: Rates) -> float:
    """Seconds."""
    if node.loop == Loop.LIBRARY:
        return node.flops / rates.library_flops_per_second
    each = node.simple / rates.simple_per_second + node.expensive / rates.expensive_per_second
    if node.loop == Loop.REDUCTION:
        each += 1 / rates.reduced_per_second
    if node.loop == Loop.MOVEMENT:
        each += 1 / rates.moved_per_second
    return node.elements * each


def plan_of_levels(problem: InductorProblem, levels: np.ndarray) -> Plan:
    """The kernels of levels, (n,): pairs of one level above 0 are fused where no kernels wait for each other."""
    fusion = problem.fusion
    if not len(problem.pairs):
        return Plan(np.arange(fusion.n, dtype=np.int64))
    order = np.argsort(-levels[problem.pairs[:, 0]].astype(np.int64), kind="stable")
    kernel = _fused(fusion.child_offsets, fusion.children, problem.pairs[order], levels)
    return Plan(_only_read_inside(fusion, kernel))


def levels_of_plan(problem: FusionProblem, plan: Plan) -> np.ndarray:
    """Levels that lead to the kernels of a plan, (n,) int64: each kernel of several nodes has a level of its own."""
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
    seen = np.zeros(n, np.bool_)
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
                    if reader != end and reader != begin and not seen[reader]:
                        seen[reader] = True
                        pending[count] = reader
                        count += 1
    return False


def _only_read_inside(problem: FusionProblem, kernel: np.ndarray) -> np.ndarray:
    """What only its own kernel reads is not stored; a kernel is numbered by the first result that it stores."""
    plan = kernel.copy()
    for i in range(problem.n):
        readers = problem.children[problem.child_offsets[i] : problem.child_offsets[i + 1]]
        if len(readers) and (kernel[readers] == kernel[i]).all():
            plan[i] = NOT_WRITTEN
    for number in np.unique(plan[plan != NOT_WRITTEN]):
        stored = np.flatnonzero(plan == number)
        plan[stored] = stored[0]
    return plan
