"""List scheduling: every slot takes the ready instruction that can issue first, of equals that of highest priority.

With a machine, cycle by cycle on its in-order model (latency/in_order.py): latencies, issue width, units, write-back.
One that issues out of order is taken as if it issued in order (`Processor.costs`): a rule of thumb, and a good one.
Without one, on a machine that issues one instruction a cycle with nominal latencies (dag/latencies.py). Ties go to
the instruction shown first. Gibbons & Muchnick 1986; priorities by name, the setting `priority`:

- critical_path: longest path to the end by nominal latencies;
- weighted_height: longest path to the end in cycles of the machine: its delays, write-back in order;
- register_pressure: most last uses less new values, by the dependencies through registers and flags that the block
  itself has; of equals the longest path by nominal latencies (as Goodman & Hsu 1988 do when registers are short);
- source_order: the instruction shown first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pipeline.blocks.dag.dependencies import Kind
from pipeline.blocks.dag.topology import heights
from pipeline.blocks.latency.costs import Processor
from pipeline.blocks.latency.in_order import Costs, idle, put, reset, start_of
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.schedulers import Budget, Solution
from pipeline.blocks.schedulers.on_machine.graph import block_of, graph
from pipeline.blocks.schedulers.on_machine.supported import where_known
from pipeline.config.methods.list_scheduling import Priority, Settings

READS = Kind.REGISTER_RAW | Kind.FLAG_RAW


class ListScheduling:
    def __init__(self, settings: Settings, machine: Processor | None = None) -> None:
        self._priority, self._machine = settings.priority, machine
        if self._priority == "weighted_height" and machine is None:
            raise ValueError("the priority weighted_height is in cycles of a machine, and none is given")

    def solve(self, problems: Problems, rng: np.random.Generator, budget: Budget) -> Solution:
        if self._machine is None:
            return Solution.of({"none": list_schedule(problems, self._priority, None)})
        return where_known(self._machine, problems, self._on_machine)

    def _on_machine(self, problems: Problems) -> Solution:
        assert self._machine is not None
        costs = self._machine.costs(problems.instructions)
        return Solution.of({"none": list_schedule(problems, self._priority, costs)})


def list_schedule(problems: Problems, priority: Priority, costs: Costs | None) -> np.ndarray:
    """Orders (B, n) int16 by a priority; on the nominal machine where `costs` is None."""
    precedes, latencies = np.ascontiguousarray(problems.precedes), problems.latencies
    nominal = heights(precedes, latencies)
    if priority == "source_order":
        first = np.zeros_like(nominal)
    elif priority == "weighted_height":
        if costs is None:
            raise ValueError("weighted_height is in cycles of a machine; none is given")
        first = machine_heights(costs, precedes)
    else:
        first = nominal
    uses = (problems.conflicts & int(READS)) > 0 if priority == "register_pressure" else np.zeros((0, 0, 0), bool)
    order = np.empty(latencies.shape, np.int16)
    _fill(costs or _single_issue(latencies), costs is None, precedes, latencies, first, uses, order)
    return order


@njit(cache=True, nogil=True)
def machine_heights(costs: Costs, precedes: np.ndarray) -> np.ndarray:
    """Cycles from the issue of each instruction to the last write-back of what must follow, (B, n) int64."""
    found = np.empty(precedes.shape[:2], np.int64)
    for b in range(len(precedes)):
        found[b] = graph(block_of(costs, b), precedes[b]).tail
    return found


def _single_issue(latencies: np.ndarray) -> Costs:
    """No units, one instruction a cycle."""
    size, n = latencies.shape
    return Costs(
        np.ones((size, n), np.int32),
        latencies.astype(np.int32),
        np.zeros((size, n, 0), np.int32),
        np.full((size, n), -1, np.int32),
        np.zeros((size, n), np.int32),
        np.zeros((size, n, n), np.int16),
        np.zeros(0, np.int64),
        1,
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
    """Fill order (B, n). nominal: results come after `latencies`, and write-backs are in no order.

    uses: (B, n, n), [b, i, k] where k reads what i writes; empty where register pressure does not count.
    """
    size, n = priority.shape
    pipeline = idle(costs.held.shape[2], len(costs.groups), n)
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
                start = max(cycle, ready[i]) if nominal else start_of(block, pipeline, t, i)
                released = _released(uses[b], issued, i) if len(uses) else 0
                key = (-start, released, priority[b, i])
                if chosen < 0 or key > best:
                    chosen, best = i, key
            if nominal:
                cycle = -best[0] + 1
            else:
                put(block, pipeline, t, chosen, -best[0])
            issued[chosen] = True
            order[b, t] = chosen
            for k in range(n):
                if precedes[b, chosen, k]:
                    waiting[k] -= 1
                    ready[k] = max(ready[k], -best[0] + latencies[b, chosen])


@njit(cache=True, nogil=True)
def _released(uses: np.ndarray, issued: np.ndarray, i: int) -> int:
    """Values of the block that i is the last to read, less one if i makes a value that is read."""
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
