"""The formulation of POCSNet's introduction as a mixed-integer linear program, solved by HiGHS (scipy.optimize.milp).

Variables: the permutation matrix X, binary, [i, t] for instruction i in slot t; no relaxation of it is rounded.
Constraints: rows and columns sum to 1; (slot of k) - (slot of i) >= 1, slots being linear in X, for each dependency.
Cost, linear in X: sum over instructions of weight x slot. The weight is the instruction's longest path to the end in
cycles, itself included: of the machine where one is given (`list_scheduling`'s weighted_height), else nominal. That
is the scheduling problem 1 | prec, p = 1 | sum of w C: early who has much behind it. It knows of no cycle in which
nothing issues, so its optimum is none of the makespan.

HiGHS may look at the budget's `nodes` for each block, so the result does not depend on the speed of the
computer. What it has by then counts; where it has nothing, list scheduling by the same weights does.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from pipeline.blocks.dag.topology import heights
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.list_scheduling import list_schedule, machine_heights
from pipeline.blocks.schedulers.on_machine.supported import where_known
from pipeline.config.methods.milp import Settings


class Milp:
    def __init__(self, settings: Settings, machine: Processor | None = None) -> None:
        self._machine = machine

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        if self._machine is None:
            weights = heights(np.ascontiguousarray(problems.precedes), problems.latencies)
            return _assigned(problems, weights, list_schedule(problems, "critical_path", None), budget)
        return where_known(self._machine, problems, lambda part: self._on_machine(part, budget))

    def _on_machine(self, problems: Problems, budget: Budget) -> Solution:
        assert self._machine is not None
        costs = self._machine.costs(problems.instructions)
        weights = machine_heights(costs, np.ascontiguousarray(problems.precedes))
        return _assigned(problems, weights, list_schedule(problems, "weighted_height", costs), budget)


def _assigned(problems: Problems, weights: np.ndarray, listed: np.ndarray, budget: Budget) -> Solution:
    """What HiGHS has after the budget's nodes; the listed order where it has none."""
    answers = [assign(*pair, budget.nodes) for pair in zip(problems.precedes, weights, strict=True)]
    order = [first if answer is None else answer for first, answer in zip(listed, answers, strict=True)]
    return Solution.of({"none": np.stack(order)})


def assign(precedes: np.ndarray, weights: np.ndarray, nodes: int) -> np.ndarray | None:
    """The legal order (n,) of least weight x slot that HiGHS has after so many nodes; None where it has none.

    precedes: (n, n) bool; weights: (n,). Raises ValueError where the dependencies have a cycle.
    """
    n = len(weights)
    slots = np.arange(n)
    before, after = precedes.nonzero()
    edges = np.arange(len(before))
    distances = sparse.csr_array(
        (np.r_[np.ones(len(edges)), -np.ones(len(edges))], (np.r_[edges, edges], np.r_[after, before])),
        shape=(len(edges), n),
    )
    each, ones = sparse.eye_array(n), np.ones((1, n))
    constraints = [
        LinearConstraint(sparse.kron(each, ones), 1, 1),  # every instruction has one slot,
        LinearConstraint(sparse.kron(ones, each), 1, 1),  # every slot one instruction
        LinearConstraint(sparse.kron(distances, slots[None, :]), 1, np.inf),
    ]
    found = milp(
        np.kron(weights, slots),
        integrality=np.ones(n * n),
        bounds=Bounds(0, 1),
        constraints=constraints if len(edges) else constraints[:2],
        options={"node_limit": nodes},
    )
    if found.status == 2:
        raise ValueError("the dependencies of a block have a cycle: there is no legal order")
    if found.x is None:
        return None
    order: np.ndarray = np.argsort(found.x.reshape(n, n).round() @ slots).astype(np.int16)
    return order


make = Milp
