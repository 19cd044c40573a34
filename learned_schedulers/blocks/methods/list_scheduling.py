"""List scheduling: every slot takes the ready instruction that can issue first, then by priority.

With a machine, it uses its in-order model (processors/in_order.py): latencies, issue width, units, write-back.
An out-of-order machine is treated as if it issued in order (`Processor.costs`), which is a good rule of thumb. Without
a machine, one instruction issues in a cycle, with nominal latencies (dag/latencies.py). Ties go to the instruction
shown first. Gibbons & Muchnick 1986. The setting `priority` names the priority:

- critical_path: longest path to the end by nominal latencies;
- weighted_height: longest path to the end in cycles of the machine: its delays, write-back in order;
- register_pressure: most last uses minus new values, by the dependencies within the block through registers and flags;
  then the longest path by nominal latencies (Goodman & Hsu 1988 do so if registers are short);
- source_order: the instruction shown first.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.topology import heights
from learned_schedulers.blocks.method_settings import ListScheduling as Settings
from learned_schedulers.blocks.methods import Budget, Solution
from learned_schedulers.blocks.methods.on_machine.graph import graph
from learned_schedulers.blocks.methods.on_machine.supported import solve_supported
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.processors.costs import Processor
from learned_schedulers.blocks.processors.in_order import (
    Costs,
    block_of,
    issue_cycle,
    issue_instruction,
    new_pipeline,
    reset,
)

Priority = Literal["critical_path", "weighted_height", "register_pressure", "source_order"]


READS = Kind.REGISTER_RAW | Kind.FLAG_RAW


class ListScheduling:
    def __init__(self, settings: Settings, machine: Processor | None = None) -> None:
        self._priority, self._machine = settings.priority, machine
        if self._priority == "weighted_height" and machine is None:
            raise ValueError("the priority weighted_height is in cycles of a machine, and none is given")

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        if self._machine is None:
            return Solution.of({"none": list_schedule(problems, self._priority, None)})
        return solve_supported(self._machine, problems, self._on_machine)

    def _on_machine(self, problems: Problems) -> Solution:
        assert self._machine is not None
        costs = self._machine.costs(problems.instructions)
        return Solution.of({"none": list_schedule(problems, self._priority, costs)})


def list_schedule(problems: Problems, priority: Priority, costs: Costs | None) -> np.ndarray:
    """Orders (B, n) int16 by a priority; on the nominal machine if `costs` is None."""
    precedes, latencies = np.ascontiguousarray(problems.precedes), problems.latencies
    nominal = heights(precedes, latencies)
    if priority == "source_order":
        priorities = np.zeros_like(nominal)
    elif priority == "weighted_height":
        if costs is None:
            raise ValueError("weighted_height is in cycles of a machine; none is given")
        priorities = machine_heights(costs, precedes)
    else:
        priorities = nominal
    uses = (problems.conflicts & int(READS)) > 0 if priority == "register_pressure" else np.zeros((0, 0, 0), bool)
    order = np.empty(latencies.shape, np.int16)
    _fill(costs or _single_issue(latencies), costs is None, precedes, latencies, priorities, uses, order)
    return order


@njit(cache=True, nogil=True)
def machine_heights(costs: Costs, precedes: np.ndarray) -> np.ndarray:
    """Cycles from the issue of each instruction to the last write-back of it and all that must follow; (B, n) int64."""
    tails = np.empty(precedes.shape[:2], np.int64)
    for b in range(len(precedes)):
        tails[b] = graph(block_of(costs, b), precedes[b]).tail
    return tails


def _single_issue(latencies: np.ndarray) -> Costs:
    """Costs on the nominal machine: it has no units and issues one instruction a cycle."""
    size, n = latencies.shape
    return Costs(
        micro_ops=np.ones((size, n), np.int32),
        latencies=latencies.astype(np.int32),
        unit_cycles=np.zeros((size, n, 0), np.int32),
        choice=np.full((size, n), -1, np.int32),
        choice_cycles=np.zeros((size, n), np.int32),
        delays=np.zeros((size, n, n), np.int16),
        groups=np.zeros(0, np.int64),
        issue_width=1,
    )


@njit(cache=True, nogil=True)
def _fill(
    costs: Costs,
    nominal: bool,
    precedes: np.ndarray,
    latencies: np.ndarray,
    priority: np.ndarray,
    uses: np.ndarray,
    order: np.ndarray,
) -> None:
    """Fill order (B, n). nominal: results are available after `latencies`, and write-backs need not be in order.

    uses: (B, n, n), [b, i, k] if k reads what i writes; empty if the priority does not consider register pressure.
    """
    size, n = priority.shape
    pipeline = new_pipeline(costs.unit_cycles.shape[2], len(costs.groups), n)
    for b in range(size):
        block = block_of(costs, b)
        reset(block, pipeline)
        waiting = precedes[b].sum(0)
        issued = np.zeros(n, np.bool_)
        ready, cycle = np.zeros(n, np.int64), 0  # of the nominal machine
        for t in range(n):
            chosen, best = -1, (0, 0, 0)
            for i in range(n):
                if issued[i] or waiting[i] > 0:
                    continue
                start = max(cycle, ready[i]) if nominal else issue_cycle(block, pipeline, t, i)
                released = _released(uses[b], issued, i) if len(uses) else 0
                key = (-start, released, priority[b, i])
                if chosen < 0 or key > best:
                    chosen, best = i, key
            if nominal:
                cycle = -best[0] + 1
            else:
                issue_instruction(block, pipeline, t, chosen, -best[0])
            issued[chosen] = True
            order[b, t] = chosen
            for k in range(n):
                if precedes[b, chosen, k]:
                    waiting[k] -= 1
                    ready[k] = max(ready[k], -best[0] + latencies[b, chosen])


@njit(cache=True, nogil=True)
def _released(uses: np.ndarray, issued: np.ndarray, i: int) -> int:
    """Number of values of the block of which i is the last reader, minus one if i makes a value that is read."""
    n = len(uses)
    released = 0
    for maker in range(n):
        if not issued[maker] or not uses[maker, i]:
            continue
        last = True
        for k in range(n):
            last &= issued[k] or k == i or not uses[maker, k]
        released += last
    for k in range(n):
        if uses[i, k]:
            return released - 1
    return released


make = ListScheduling
