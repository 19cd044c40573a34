"""A plan of fusion: what is computed where it is read, what is written to memory, and by which kernel.

An operation is either fused into all its readers, each of whose kernels computes it again and none of which stores it,
or its result is written. Written results that one kernel writes together are a multi-output fusion; the kernel is
numbered by the first of them. What a kernel computes is what it writes, and what is fused into that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.graphs.compilers.fusion_problem import FusionProblem
from pipeline.graphs.compilers.kinds import Loop

MOST_OPERATIONS = 64  # of a kernel, those computed twice counted twice; TorchInductor's max_fusion_size
NOT_WRITTEN = -1
_FUSIBLE = (Loop.ELEMENTWISE, Loop.MOVEMENT, Loop.REDUCTION)


@dataclass(frozen=True)
class Plan:
    """Of n operations."""

    kernel: (
        np.ndarray
    )  # (n,) int64: the kernel that writes its result, or NOT_WRITTEN where it is fused into its readers

    @property
    def fused(self) -> np.ndarray:
        """(n,) bool: fused into all its readers."""
        return self.kernel == NOT_WRITTEN

    @property
    def kernels(self) -> int:
        """How many there are."""
        return len(np.unique(self.kernel[~self.fused]))


def separate(n: int) -> Plan:
    """Every operation a kernel of its own."""
    return Plan(np.arange(n, dtype=np.int64))


def members(problem: FusionProblem, plan: Plan) -> dict[int, set[int]]:
    """Everything that each kernel computes, by the kernel's number."""
    inside: dict[int, set[int]] = {}
    for root in np.flatnonzero(~plan.fused).tolist():
        pending, seen = [root], inside.setdefault(int(plan.kernel[root]), set())
        while pending:
            operation = pending.pop()
            if operation not in seen:
                seen.add(operation)
                pending += [parent for parent in _parents(problem, operation) if plan.fused[parent]]
    return inside


def violations(problem: FusionProblem, plan: Plan) -> list[str]:
    """Why the plan cannot be run; empty where it can. Written to be read, and compared with the compiled checks.

    - Only loops that are not reductions are fused into readers, and only into loops; a last result has no reader.
    - What one kernel writes are loops over equally many elements, which are related: through what they read in common,
      or because one reads another.
    - No kernel reads, at other positions than its loop is at, what it writes itself; nor what its own reductions write.
    - The kernels can be run in some order (groups are convex).
    - A kernel has at most MOST_OPERATIONS.
    """
    return [
        *_of_fused(problem, plan),
        *_of_roots(problem, plan),
        *_of_positions(problem, plan),
        *_of_order(problem, plan),
        *_of_sizes(problem, plan),
    ]


def _parents(problem: FusionProblem, i: int) -> list[int]:
    return list(map(int, problem.parents[problem.parent_offsets[i] : problem.parent_offsets[i + 1]]))


def _children(problem: FusionProblem, i: int) -> list[int]:
    return list(map(int, problem.children[problem.child_offsets[i] : problem.child_offsets[i + 1]]))


def _of_fused(problem: FusionProblem, plan: Plan) -> Iterator[str]:
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


def _of_roots(problem: FusionProblem, plan: Plan) -> Iterator[str]:
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
    """The root, what is computed for it, and the written results that are read."""
    touched, pending = set(), [root]
    while pending:
        operation = pending.pop()
        if operation not in touched:
            touched.add(operation)
            pending += _parents(problem, operation) if operation == root or plan.fused[operation] else []
    return touched


def _of_positions(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    for root in np.flatnonzero(~plan.fused).tolist():
        pending, seen = [(root, False)], set()
        while pending:
            operation, moved = pending.pop()
            if (operation, moved) in seen:
                continue
            seen.add((operation, moved))
            moved = moved or bool(problem.elsewhere[operation])
            for parent in _parents(problem, operation):
                if plan.fused[parent]:
                    pending.append((parent, moved))
                elif plan.kernel[parent] == plan.kernel[root] and (moved or problem.loops[parent] == Loop.REDUCTION):
                    yield f"kernel {plan.kernel[root]} reads what it writes, {parent}, before it is complete"


def _of_order(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    reads: dict[int, set[int]] = {}
    for kernel, inside in members(problem, plan).items():
        written = {int(plan.kernel[p]) for i in inside for p in _parents(problem, i) if not plan.fused[p]}
        reads[kernel] = written - {kernel}
    while ready := [kernel for kernel, needed in reads.items() if not needed & reads.keys()]:
        for kernel in ready:
            del reads[kernel]
    if reads:
        yield f"kernels {sorted(reads)} wait for each other"


def _of_sizes(problem: FusionProblem, plan: Plan) -> Iterator[str]:
    sizes = np.ones(problem.n, np.int64)  # of what is computed for each operation
    for i in range(problem.n):
        sizes[i] += sum(int(sizes[parent]) for parent in _parents(problem, i) if plan.fused[parent])
    for kernel, roots in _roots(plan).items():
        if sum(sizes[roots]) > MOST_OPERATIONS and (len(roots) > 1 or sizes[roots[0]] > 1):
            yield f"kernel {kernel} has more than {MOST_OPERATIONS} operations"
