"""Methods that fuse the operations of a graph; one file, one method, found by the registry (methods.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from learned_schedulers import methods as registry
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem
from learned_schedulers.graphs.compilers.levels import levels_of
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan, violations
from learned_schedulers.graphs.devices.completion import OPEN, PLAIN
from learned_schedulers.graphs.models.fusing.joint import Machine, Scheduled, schedule_of_plan
from learned_schedulers.method_settings import MethodSettings


@dataclass(frozen=True)
class Fusion:
    """A method's plan; on several devices with a schedule of its kernels."""

    plan: Plan
    costs: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (evaluations,) seconds; none if none are recorded
    scheduled: Scheduled | None = None


class Method(Protocol):
    """The interface of every method."""

    def fuse(self, problem: FusionProblem, rng: np.random.Generator, machine: Machine | None = None) -> Fusion:
        """A plan of the problem, for one device or for a machine of several.

        Raises methods.Unsupported for a problem that it does not support.
        """
        ...


def make(settings: MethodSettings, resources: Mapping[str, object] | None = None) -> Method:
    """The method of these settings. `weights`: the file of its network. Raises ValueError if this is missing."""
    method: Method = registry.make("fusion", settings, resources or {})
    return method


def faults(problem: FusionProblem, fusion: object) -> Iterator[str]:
    """What is wrong with a method's answer, with the remedy: it is no plan, or one that cannot run."""
    if not isinstance(fusion, Fusion) or not isinstance(fusion.plan, Plan):
        yield f"fuse returned a {type(fusion).__name__}; return learned_schedulers.graphs.methods.fusing.Fusion"
        return
    kernel, n = fusion.plan.kernel, problem.n
    if not isinstance(kernel, np.ndarray) or kernel.dtype != np.int64 or kernel.shape != (n,):
        yield f"plan.kernel must be an array int64 of shape ({n},)"
    elif ((kernel < NOT_WRITTEN) | (kernel >= n)).any():
        yield f"plan.kernel must have numbers of operations, 0 to {n - 1}, or {NOT_WRITTEN} for one that is fused"
    else:
        yield from violations(problem, fusion.plan)
    costs = fusion.costs
    if not isinstance(costs, np.ndarray) or costs.dtype != np.float64 or costs.ndim != 1 or np.isnan(costs).any():
        yield "costs must be an array float64: the seconds of each evaluation, or of shape (0,) if none are recorded"


def fusion_of(problem: FusionProblem, plan: Plan, costs: np.ndarray, machine: Machine | None) -> Fusion:
    """The answer of a method that only fuses; on several devices HEFT places and orders the kernels of its plan."""
    if machine is None:
        return Fusion(plan, costs)
    undecided = np.full(problem.n, OPEN, np.int8), np.full(problem.n, PLAIN, np.int8)
    return Fusion(plan, scheduled=schedule_of_plan(problem, machine, plan, levels_of(problem, plan), *undecided))
