"""Fusion plans of compilers' rules and of GO's search for one graph, and the kernels of a plan with their savings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learned_schedulers.graphs.compilers.cost import kernel_costs
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.kernel_graph import kernel_graph
from learned_schedulers.graphs.compilers.plan import Plan, members, separate
from learned_schedulers.graphs.methods.fusing import make
from learned_schedulers.graphs.models.fusing.fusing_search import DEFAULTS
from learned_schedulers.graphs.models.fusing.settings import GoFusion, Rule
from learned_schedulers.graphs.problems.problem import Transfers

SEPARATE, GO = "separate", "go"
_EVALUATIONS = 1000  # most plans that GO tries
_READ = 3_000_000  # most operations of all these plans, about fifteen seconds: larger graphs get fewer plans
_LEAST_EVALUATIONS = 40


@dataclass(frozen=True)
class Fusion:
    """Result of one method."""

    method: str
    plan: Plan
    seconds: float  # predicted
    moved_bytes: float  # read and written


@dataclass(frozen=True)
class Kernel:
    """A kernel of a plan."""

    computes: tuple[int, ...]  # operations, in a topological order
    writes: tuple[int, ...]  # the operations among them whose results are stored
    seconds: float  # predicted
    moved_bytes: float  # read and written
    saved_seconds: float  # against a kernel for each operation; one that several kernels compute counts in equal shares
    saved_bytes: float


def evaluations(operations: int) -> int:
    """Number of plans that GO tries for a graph with so many operations."""
    return max(_LEAST_EVALUATIONS, min(_EVALUATIONS, _READ // max(operations, 1)))


def fusions(problem: FusionProblem, seed: int) -> list[Fusion]:
    """Results of: no fusion; the rules of compilers; GO, which starts from the best rule. Same seed, same plans."""
    methods: dict[str, Rule | GoFusion] = {
        **{rule: Rule.model_validate({"method": rule}) for rule in (SEPARATE, *DEFAULTS)},
        GO: GoFusion(method="go", evaluations=evaluations(problem.n)),
    }
    plans = {name: make(method).fuse(problem, np.random.default_rng(seed)).plan for name, method in methods.items()}
    return [_fusion(name, problem, plan) for name, plan in plans.items()]


def best_of(results: Sequence[Fusion]) -> Fusion:
    """The first result with the least time."""
    return min(results, key=lambda fusion: fusion.seconds)


def best_rule(results: Sequence[Fusion]) -> Fusion:
    """The best of the compilers' rules."""
    return best_of([fusion for fusion in results if fusion.method in DEFAULTS])


def kernels_of(problem: FusionProblem, plan: Plan) -> list[Kernel]:
    """The kernels of a legal plan, in an order in which they can run. Their savings add up to the plan's."""
    seconds, _, moved = kernel_costs(problem, plan)
    alone_seconds, _, alone_moved = kernel_costs(problem, separate(problem.n))
    inside = {number: np.array(sorted(group), np.int64) for number, group in members(problem, plan).items()}
    times = np.bincount(np.concatenate([*inside.values(), np.zeros(0, np.int64)]), minlength=problem.n)
    kernels = []
    for number in kernel_graph(problem, plan, 1, Transfers()).numbers.tolist():
        group = inside[number]
        kernels.append(
            Kernel(
                computes=tuple(group.tolist()),
                writes=tuple(group[plan.kernel[group] == number].tolist()),
                seconds=float(seconds[number]),
                moved_bytes=float(moved[number]),
                saved_seconds=float((alone_seconds[group] / times[group]).sum() - seconds[number]),
                saved_bytes=float((alone_moved[group] / times[group]).sum() - moved[number]),
            )
        )
    return kernels


def as_json(fusion: Fusion, kernels: Sequence[Kernel], names: Sequence[str]) -> str:
    """The plan as JSON, with kernels in an order in which they can run. names: (n,), of the operations."""

    def named(operations: Sequence[int]) -> list[dict[str, int | str]]:
        return [{"operation": i, "name": names[i]} for i in operations]

    rows = [
        {
            "computes": named(kernel.computes),
            "writes": named(kernel.writes),
            "seconds": kernel.seconds,
            "moved_bytes": kernel.moved_bytes,
        }
        for kernel in kernels
    ]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    summary = json.dumps({"method": fusion.method, "seconds": fusion.seconds})
    return f'{summary[:-1]}, "kernels": [\n{lines}\n]}}\n'


def _fusion(method: str, problem: FusionProblem, plan: Plan) -> Fusion:
    seconds, _, moved = kernel_costs(problem, plan)
    return Fusion(method, plan, float(seconds.sum()), float(moved.sum()))
