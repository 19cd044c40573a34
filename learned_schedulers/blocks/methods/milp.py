"""The formulation of POCSNet's introduction as a mixed-integer linear program, solved by HiGHS (scipy.optimize.milp).

Variables: the binary permutation matrix X, [i, t] for instruction i in slot t; no relaxation of it is rounded.
Constraints: rows and columns sum to 1; (slot of k) - (slot of i) >= 1 for each dependency; slots are linear in X.
Cost, linear in X: the sum over instructions of weight x slot. The weight is the longest path from the instruction to
the end in cycles, including the instruction: cycles of the machine if there is one (`list_scheduling`'s
weighted_height), else nominal ones. This is the scheduling problem 1 | prec, p = 1 | sum of w C: instructions with long
paths go early. The program has no cycles in which nothing issues, so its optimum need not have the least makespan.

HiGHS visits at most the budget's `nodes` for each block, so the result does not depend on the speed of the computer.
The result is its best order by then; if it has none, the order of list scheduling by the same weights.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from learned_schedulers.blocks.dag.topology import heights
from learned_schedulers.blocks.method_settings import Milp as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.list_scheduling import list_schedule, machine_heights
from learned_schedulers.blocks.methods.on_machine.supported import solve_supported
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor


class Milp:
    def __init__(self, settings: Settings, machine: Processor | None = None) -> None:
        self._machine = machine

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        if self._machine is None:
            weights = heights(np.ascontiguousarray(problems.precedes), problems.latencies)
            return _assigned(problems, weights, list_schedule(problems, "critical_path", None), budget)
        return solve_supported(self._machine, problems, lambda part: self._on_machine(part, budget))

    def _on_machine(self, problems: Problems, budget: Budget) -> Solution:
        assert self._machine is not None
        costs = self._machine.costs(problems.instructions)
        weights = machine_heights(costs, np.ascontiguousarray(problems.precedes))
        return _assigned(problems, weights, list_schedule(problems, "weighted_height", costs), budget)


def _assigned(problems: Problems, weights: np.ndarray, listed: np.ndarray, budget: Budget) -> Solution:
    """The best order of HiGHS after the budget's nodes; the listed order if it has none."""
    answers = [assign(*pair, budget.nodes) for pair in zip(problems.precedes, weights, strict=True)]
    order = [fallback if answer is None else answer for fallback, answer in zip(listed, answers, strict=True)]
    return Solution.of({"none": np.stack(order)})


def assign(precedes: np.ndarray, weights: np.ndarray, nodes: int) -> np.ndarray | None:
    """The legal order (n,) of least weight x slot that HiGHS has after this number of nodes; None if it has none.

    precedes: (n, n) bool; weights: (n,). Raises ValueError if the dependencies have a cycle.
    """
    n = len(weights)
    slots = np.arange(n)
    before, after = precedes.nonzero()
    edges = np.arange(len(before))
    distances = sparse.csr_array(
        (np.r_[np.ones(len(edges)), -np.ones(len(edges))], (np.r_[edges, edges], np.r_[after, before])),
        shape=(len(edges), n),
    )
    identity, row_of_ones = sparse.eye_array(n), np.ones((1, n))
    constraints = [
        LinearConstraint(sparse.kron(identity, row_of_ones), 1, 1),  # every instruction has one slot,
        LinearConstraint(sparse.kron(row_of_ones, identity), 1, 1),  # every slot one instruction
        LinearConstraint(sparse.kron(distances, slots[None, :]), 1, np.inf),
    ]
    result = milp(
        np.kron(weights, slots),
        integrality=np.ones(n * n),
        bounds=Bounds(0, 1),
        constraints=constraints if len(edges) else constraints[:2],
        options={"node_limit": nodes},
    )
    if result.status == 2:
        raise ValueError("the dependencies of a block have a cycle: there is no legal order")
    if result.x is None:
        return None
    order: np.ndarray = np.argsort(result.x.reshape(n, n).round() @ slots).astype(np.int16)
    return order


make = Milp
