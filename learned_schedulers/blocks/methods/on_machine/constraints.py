"""One block on an in-order processor as a CP-SAT model, in which an instruction may occupy any free unit of its group.

llvm-mca's pipeline chooses the units of a group in turn instead, so the optimum of this model is a lower bound, and the
in-order model times its orders again. The model includes issue width, operands, units and write-back in order. It has
two more relaxations: an instruction with more micro-ops than the width uses none of it in its first and last cycle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from learned_schedulers.blocks.methods.on_machine.graph import Graph
from learned_schedulers.blocks.processors.in_order import Block


class Answer(NamedTuple):
    """CP-SAT's result on the orders of a block that take fewer cycles than a given one."""

    order: np.ndarray | None  # (n,) legal; None: CP-SAT found none
    bound: int  # no legal order takes fewer cycles


def solve(block: Block, graph: Graph, floor: int, upper_bound: int, deterministic_seconds: float, seed: int) -> Answer:
    """The best order of fewer than `upper_bound` cycles in the model, or a proof that there is none.

    floor: a lower bound on its cycles, less than `upper_bound`. deterministic_seconds: CP-SAT's measure of its own
    work, in about seconds, the same on every computer; it uses one worker.
    """
    model = cp_model.CpModel()
    issue, makespan = _variables(model, graph, floor, upper_bound)
    _dependencies(model, graph, issue)
    _issue_width(model, block, issue)
    _units(model, block, issue)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = deterministic_seconds
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Answer(None, upper_bound)
    if status == cp_model.UNKNOWN:
        return Answer(None, max(floor, int(np.ceil(solver.best_objective_bound))))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise RuntimeError(f"CP-SAT calls the model {solver.status_name(status)}: {model.validate()}")
    cycles = np.array([solver.value(variable) for variable in issue])
    # Within a cycle quick instructions go first because of write-back in order; predecessors are no slower.
    order = np.lexsort((graph.reach.sum(0), block.latencies, cycles))
    return Answer(order.astype(np.int16), max(floor, int(np.ceil(solver.best_objective_bound))))


def _variables(
    model: cp_model.CpModel, graph: Graph, floor: int, upper_bound: int
) -> tuple[list[cp_model.IntVar], cp_model.IntVar]:
    """Cycle of issue of each instruction, and the makespan."""
    makespan = model.new_int_var(floor, upper_bound - 1, "makespan")
    issue = [model.new_int_var(0, upper_bound - 1, f"issue {i}") for i in range(len(graph.tail))]
    for i, tail in enumerate(graph.tail.tolist()):
        model.add(makespan >= issue[i] + tail + 1)
    return issue, makespan


def _dependencies(model: cp_model.CpModel, graph: Graph, issue: list[cp_model.IntVar]) -> None:
    distance = graph.distance.tolist()
    for i in range(len(issue)):
        for k in range(len(issue)):
            if graph.reach[i, k]:
                model.add(issue[k] >= issue[i] + distance[i][k])
            elif i < k and not graph.reach[k, i] and max(distance[i][k], distance[k][i]) > 0:
                first = model.new_bool_var(f"{i} before {k}")
                model.add(issue[k] >= issue[i] + distance[i][k]).only_enforce_if(first)
                model.add(issue[i] >= issue[k] + distance[k][i]).only_enforce_if(~first)


def _issue_width(model: cp_model.CpModel, block: Block, issue: list[cp_model.IntVar]) -> None:
    micro_ops = block.micro_ops.tolist()
    fits = [i for i in range(len(issue)) if micro_ops[i] <= block.issue_width]
    cycles = [model.new_fixed_size_interval_var(issue[i], 1, f"cycle {i}") for i in fits]
    model.add_cumulative(cycles, [micro_ops[i] for i in fits], int(block.issue_width))


def _units(model: cp_model.CpModel, block: Block, issue: list[cp_model.IntVar]) -> None:
    n, units = block.unit_cycles.shape
    uses: list[list[cp_model.IntervalVar]] = [[] for _ in range(units)]
    for i in range(n):
        for unit in np.flatnonzero(block.unit_cycles[i]).tolist():
            uses[unit].append(
                model.new_fixed_size_interval_var(issue[i], int(block.unit_cycles[i, unit]), f"{i} on {unit}")
            )
        if block.choice[i] < 0:
            continue
        members = [unit for unit in range(units) if block.groups[block.choice[i]] >> unit & 1]
        is_chosen = [model.new_bool_var(f"{i} takes {unit}") for unit in members]
        model.add_exactly_one(is_chosen)
        for unit, chosen in zip(members, is_chosen, strict=True):
            uses[unit].append(
                model.new_optional_fixed_size_interval_var(
                    issue[i], int(block.choice_cycles[i]), chosen, f"{i} on {unit} or another"
                )
            )
    for intervals in uses:
        model.add_no_overlap(intervals)
