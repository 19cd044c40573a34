"""The trace of an order on a processor that issues in order: the model's own steps, watched one by one."""

from __future__ import annotations

import numpy as np

from learned_schedulers.blocks.order.trace import Cause, Event, Reason, Step, Trace, chain
from learned_schedulers.blocks.processors.in_order import (
    CURRENT_CYCLE,
    LAST_WRITE_BACK,
    Block,
    Costs,
    Pipeline,
    block_of,
    issue_cycle,
    issue_instruction,
    makespan_so_far,
    new_pipeline,
    reset,
)


def trace(costs: Costs, order: np.ndarray) -> Trace:
    """The trace of an order (n,) int64, n >= 1, of a single block."""
    block = block_of(costs, 0)
    pipeline = new_pipeline(block.unit_cycles.shape[1], len(block.groups), len(order))
    reset(block, pipeline)
    users = np.full(len(pipeline.free), -1)  # the last slot that used each unit
    reasons: dict[Event, Reason] = {}
    cycles: dict[Event, int] = {}
    steps: list[Step] = []
    for slot, i in enumerate(order.tolist()):
        start = int(issue_cycle(block, pipeline, slot, i))
        reason = _reason(block, pipeline, users, slot, i, start)
        free = pipeline.free.copy()
        issue_instruction(block, pipeline, slot, i, start)
        users[pipeline.free != free] = slot
        end = start + int(block.latencies[i])
        steps.append(Step(i, start, start, end, end, reason))
        issue = Event(slot, "issue")
        reasons[issue], cycles[issue] = reason, start
        reasons[Event(slot, "end")], cycles[Event(slot, "end")] = Reason(Cause.RESULT, issue), end
    makespan = int(makespan_so_far(pipeline))
    ends = [step.end for step in steps]
    last = Event(len(steps), "done")
    if max(ends) == makespan - 1:
        reasons[last] = Reason(Cause.PIPELINE, Event(ends.index(max(ends)), "end"))
    else:  # micro-ops of the last instruction still issue
        reasons[last] = Reason(Cause.WIDTH, Event(len(steps) - 1, "issue"))
    cycles[last] = makespan
    return Trace(tuple(steps), chain(reasons, cycles, last), makespan, True)


def _reason(block: Block, pipeline: Pipeline, users: np.ndarray, slot: int, i: int, start: int) -> Reason:
    """Why instruction i issues in cycle `start`, the result of `issue_cycle`, and no sooner."""
    if slot == 0:
        return Reason(Cause.PIPELINE, None)
    if start == pipeline.issue[slot - 1]:
        return Reason(Cause.ORDER, Event(slot - 1, "issue"))
    for earlier in range(slot):
        delay = block.delays[pipeline.order[earlier], i]
        if delay and pipeline.issue[earlier] + delay == start:
            return Reason(Cause.RESULT, Event(earlier, "issue"))
    needed = np.flatnonzero((block.unit_cycles[i] > 0) & (pipeline.free == start))
    if len(needed):
        return Reason(Cause.UNIT, Event(int(users[needed[0]]), "issue"), _units(needed))
    if block.choice[i] >= 0:
        members = int(block.groups[block.choice[i]])
        suitable = [u for u in range(len(users)) if members >> u & 1 and not block.unit_cycles[i, u]]
        soonest = min(suitable, key=lambda unit: int(pipeline.free[unit]))
        if pipeline.free[soonest] == start:
            return Reason(Cause.UNIT, Event(int(users[soonest]), "issue"), _units(np.array(suitable)))
    if pipeline.clock[LAST_WRITE_BACK] - block.latencies[i] == start:
        ends = pipeline.issue[:slot] + block.latencies[pipeline.order[:slot]]
        return Reason(Cause.WRITE_BACK, Event(int(ends.argmax()), "issue"))
    assert start <= pipeline.clock[CURRENT_CYCLE] + 1
    return Reason(Cause.WIDTH, Event(slot - 1, "issue"))


def _units(numbers: np.ndarray) -> int:
    return sum(1 << int(number) for number in numbers)
