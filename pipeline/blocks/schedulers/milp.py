"""The formulation of POCSNet's introduction as a mixed-integer linear program, solved by HiGHS (scipy.optimize.milp).

Variables: the permutation matrix X, binary, [i, t] for instruction i in slot t; no relaxation of it is rounded.
Constraints: rows and columns sum to 1; (slot of k) - (slot of i) >= 1, slots being linear in X, for each dependency.
Cost, linear in X: sum over instructions of weight x slot. The weight is the instruction's longest path to the end in
cycles, itself included: of the machine where one is given (`list_scheduling`'s weighted_height), else nominal. That
is the scheduling problem 1 | prec, p = 1 | sum of w C: early who has much behind it. It knows of no cycle in which
nothing issues, so its optimum is none of the makespan.

HiGHS may look at `schedulers.<name>.nodes` nodes for each block, so the result does not depend on the speed of the
computer. What it has by then counts; where it has nothing, list scheduling by the same weights does.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from pipeline.blocks.dag.topology import heights
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Request
from pipeline.blocks.schedulers.list_scheduling import list_schedule, machine_heights

NODES = 100  # unless the settings say otherwise


class Milp:
    def __init__(self, request: Request) -> None:
        self._machine = request.machine
        self._nodes = request.settings.nodes or NODES

    def schedule(self, problems: Problems, rng: np.random.Generator) -> dict[str, np.ndarray]:
        precedes = np.ascontiguousarray(problems.precedes)
        if self._machine is None:
            weights = heights(precedes, problems.latencies)
            order = list_schedule(problems, "critical_path", None)
        else:
            costs = self._machine.costs(problems.instructions)
            weights = machine_heights(costs, precedes)
            order = list_schedule(problems, "weighted_height", costs)
        for b in range(len(order)):
            found = assign(precedes[b], weights[b], self._nodes)
            if found is not None:
                order[b] = found
        return {"none": order}


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
