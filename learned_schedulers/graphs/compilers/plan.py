"""A fusion plan: which operations are computed inside their readers, and which kernel writes each remaining result.

An operation is either fused into all its readers (each of their kernels computes it again and does not store it), or
its result is written. A kernel that writes several results is a multi-output fusion; its number is the first of them.
A kernel computes the results that it writes, and all operations that are fused into these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kinds import Loop

MOST_OPERATIONS = 64  # in a kernel; one that is computed twice counts twice; TorchInductor's max_fusion_size
NOT_WRITTEN = -1
_FUSIBLE = (Loop.ELEMENTWISE, Loop.MOVEMENT, Loop.REDUCTION)


@dataclass(frozen=True)
class Plan:
    """A plan of n operations."""

    kernel: np.ndarray  # (n,) int64: the kernel that writes an operation's result, or NOT_WRITTEN if it is fused

    @property
    def fused(self) -> np.ndarray:
        """(n,) bool: the operation is fused into all its readers."""
        return self.kernel == NOT_WRITTEN

    @property
    def kernels(self) -> int:
        """Number of kernels."""
        return len(np.unique(self.kernel[~self.fused]))


def separate(n: int) -> Plan:
    """The plan with one kernel per operation."""
    return Plan(np.arange(n, dtype=np.int64))


def members(problem: FusionProblem, plan: Plan) -> dict[int, set[int]]:
    """All operations that each kernel computes, by the kernel's number."""
    inside: dict[int, set[int]] = {}
    for root in np.flatnonzero(~plan.fused).tolist():
        pending, computed = [root], inside.setdefault(int(plan.kernel[root]), set())
        while pending:
            operation = pending.pop()
            if operation not in computed:
                computed.add(operation)
                pending += [parent for parent in _parents(problem, operation) if plan.fused[parent]]
    return inside


def violations(problem: FusionProblem, plan: Plan) -> list[str]:
    """Why the plan cannot run; empty if it can. Tests compare this plain code with the compiled checks.

    - Only loops that are not reductions are fused into readers, and only into loops; a final result is not fused.
    - The results of one kernel are loops over the same number of elements, and they are related: they read common
      results, or one reads another.
    - No kernel reads its own results at other positions than its loop is at, nor the results of its own reductions.
    - The kernels can run in some order (groups are convex).
    - A kernel has at most MOST_OPERATIONS operations.
    """
    return [
        *_violations_of_fused(problem, plan),
        *_violations_of_roots(problem, plan),
        *_violations_of_positions(problem, plan),
        *_violations_of_order(problem, plan),
        *_violations_of_sizes(problem, plan),
    ]


def _parents(problem: FusionProblem, i: int) -> list[int]:
    return list(map(int, problem.parents[problem.parent_offsets[i] : problem.parent_offsets[i + 1]]))


def _children(problem: FusionProblem, i: int) -> list[int]:
    return list(map(int, problem.children[problem.child_offsets[i] : problem.child_offsets[i + 1]]))


def _violations_of_fused(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    for i in np.flatnonzero(plan.fused).tolist():
        readers = _children(problem, i)
        if problem.loops[i] not in (Loop.ELEMENTWISE, Loop.MOVEMENT):
            yield f"operation {i} is fused into its readers, but it is {Loop(problem.loops[i]).name.lower()}"
        if not readers:
            yield f"operation {i} is fused into its readers, but nothing reads it"
        if any(problem.loops[reader] not in _FUSIBLE for reader in readers):
            yield f"operation {i} is fused into a reader that is no loop"


def _roots(plan: Plan) -> dict[int, list[int]]:
    roots: dict[int, list[int]] = {}
    for i in np.flatnonzero(~plan.fused).tolist():
        roots.setdefault(int(plan.kernel[i]), []).append(i)
    return roots


def _violations_of_roots(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    for kernel, roots in _roots(plan).items():
        if kernel != roots[0]:
            yield f"kernel {kernel} is not numbered by the first that it writes, {roots[0]}"
        if len(roots) == 1:
            continue
        if any(problem.loops[root] not in _FUSIBLE for root in roots):
            yield f"kernel {kernel} writes several results, one of which is no loop"
        if len({float(problem.space[root]) for root in roots}) > 1:
            yield f"kernel {kernel} writes results of loops over different numbers of elements"
        related, reads = {roots[0]}, {root: _touched(problem, plan, root) for root in roots}
        while more := [a for a in roots if a not in related and any(reads[a] & reads[b] for b in related)]:
            related |= set(more)
        if len(related) < len(roots):
            yield f"kernel {kernel} writes results that have nothing to do with each other"


def _touched(problem: FusionProblem, plan: Plan, root: int) -> set[int]:
    """The root, the operations that are computed for it, and the written results that these read."""
    touched, pending = set(), [root]
    while pending:
        operation = pending.pop()
        if operation not in touched:
            touched.add(operation)
            pending += _parents(problem, operation) if operation == root or plan.fused[operation] else []
    return touched


def _violations_of_positions(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    for root in np.flatnonzero(~plan.fused).tolist():
        pending, visited = [(root, False)], set()
        while pending:
            operation, moved = pending.pop()
            if (operation, moved) in visited:
                continue
            visited.add((operation, moved))
            moved = moved or bool(problem.elsewhere[operation])
            for parent in _parents(problem, operation):
                if plan.fused[parent]:
                    pending.append((parent, moved))
                elif plan.kernel[parent] == plan.kernel[root] and (moved or problem.loops[parent] == Loop.REDUCTION):
                    yield f"kernel {plan.kernel[root]} reads what it writes, {parent}, before it is complete"


def _violations_of_order(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    reads: dict[int, set[int]] = {}
    for kernel, inside in members(problem, plan).items():
        written = {int(plan.kernel[p]) for i in inside for p in _parents(problem, i) if not plan.fused[p]}
        reads[kernel] = written - {kernel}
    while ready := [kernel for kernel, needed in reads.items() if not needed & reads.keys()]:
        for kernel in ready:
            del reads[kernel]
    if reads:
        yield f"kernels {sorted(reads)} wait for each other"


def _violations_of_sizes(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    sizes = np.ones(problem.n, np.int64)  # number of operations that are computed for each operation
    for i in range(problem.n):
        sizes[i] += sum(int(sizes[parent]) for parent in _parents(problem, i) if plan.fused[parent])
    for kernel, roots in _roots(plan).items():
        if sum(sizes[roots]) > MOST_OPERATIONS and (len(roots) > 1 or sizes[roots[0]] > 1):
            yield f"kernel {kernel} has more than {MOST_OPERATIONS} operations"
