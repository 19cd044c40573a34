"""The trace of an order on a processor that issues out of order.

The model tells when each instruction issues. Dispatch and retirement follow from this by its rules (`out_of_order`):
both go in order, so many a cycle; retirement frees entries of the pools, issue frees entries of the buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.blocks.order.trace import Cause, Event, Reason, Step, Trace, chain
from learned_schedulers.blocks.processors import out_of_order, packing


class _Source(NamedTuple):
    register: int
    is_late: bool


class _Block:
    """The facts of a block's instructions, and sizes of the processor, unpacked."""

    def __init__(self, costs: packing.Costs) -> None:
        facts, machine = costs.instructions[0], costs.machine
        n_pools, n_buffers = int(machine[packing.N_POOLS]), int(machine[packing.N_BUFFERS])
        lengths = [int(machine[place]) for place in range(packing.N_OCCUPIED, packing.N_TARGETS + 1)]
        ends = np.cumsum([packing.FIRST_LIST, n_pools, n_buffers, *lengths])
        pools, buffers, units, choices, sources, targets = (
            facts[:, begin:end].tolist() for begin, end in pairwise(ends)
        )
        groups = machine[packing.FIRST_GROUP : packing.FIRST_GROUP + machine[packing.N_GROUPS]].tolist()
        sizes = machine[packing.FIRST_GROUP + len(groups) :].tolist()
        self.width, self.retire_width = int(machine[packing.ISSUE_WIDTH]), int(machine[packing.RETIRE_WIDTH])
        self.pool_sizes, self.buffer_sizes = sizes[:n_pools], sizes[n_pools:]
        self.pool_entries, self.buffer_entries = pools, buffers
        self.micro_ops: list[int] = facts[:, packing.MICRO_OPS].tolist()
        self.latency: list[int] = facts[:, packing.LATENCY].tolist()
        self.advance: list[int] = facts[:, packing.ADVANCE].tolist()
        self.memory: list[int] = facts[:, packing.MEMORY].tolist()
        # Of each instruction: pairs of a set of units, of which it occupies one, and cycles.
        self.uses = [
            [(1 << (use & 255) - 1, use >> packing.BYTE) for use in definite if use]
            + [(groups[(use & 255) - 1], use >> packing.BYTE) for use in open_ if use]
            for definite, open_ in zip(units, choices, strict=True)
        ]
        self.sources = [
            [_Source(source & 255, bool(source >> packing.BYTE & 1)) for source in row if source] for row in sources
        ]
        self.targets = [[target for target in row if target] for row in targets]


def trace(costs: packing.Costs, order: np.ndarray) -> Trace:
    """The trace of an order (n,) int64, n >= 1, of a single block."""
    memory = out_of_order.scratch()
    makespan = int(out_of_order.cycles(costs.instructions[0], costs.machine, order, memory))
    issue: list[int] = out_of_order.issues(memory, len(order)).tolist()
    block, slots = _Block(costs), order.tolist()
    ends = [issue[t] + block.latency[i] for t, i in enumerate(slots)]
    reasons: dict[Event, Reason] = {}
    retire = _retired(block, ends, reasons)
    dispatch = _dispatched(block, slots, issue, retire, reasons)
    _issued(block, slots, issue, dispatch, reasons)
    cycles = {
        Event(slot, name): when
        for name, moments in (("dispatch", dispatch), ("issue", issue), ("end", ends), ("retire", retire))
        for slot, when in enumerate(moments)
    }
    last = Event(len(slots), "done")
    reasons[last], cycles[last] = Reason(Cause.PIPELINE, Event(len(slots) - 1, "retire")), makespan
    steps = [
        Step(i, dispatch[t], issue[t], ends[t], retire[t], reasons[Event(t, "issue")]) for t, i in enumerate(slots)
    ]
    return Trace(tuple(steps), chain(reasons, cycles, last), makespan, False)


def _retired(block: _Block, ends: Sequence[int], reasons: dict[Event, Reason]) -> list[int]:
    """The cycle in which each slot retires: after it was executed and all before it have retired."""
    retire: list[int] = []
    for slot, end in enumerate(ends):
        reasons[Event(slot, "end")] = Reason(Cause.RESULT, Event(slot, "issue"))
        before = retire[-1] if retire else 0
        cycle = max(end + 1, before)
        if cycle == end + 1:
            reasons[Event(slot, "retire")] = Reason(Cause.PIPELINE, Event(slot, "end"))
        else:
            reasons[Event(slot, "retire")] = Reason(Cause.ORDER, Event(slot - 1, "retire"))
        if retire[-block.retire_width :].count(cycle) == block.retire_width:
            cycle += 1
            reasons[Event(slot, "retire")] = Reason(Cause.RETIREMENT, Event(slot - 1, "retire"))
        retire.append(cycle)
    return retire


def _dispatched(
    block: _Block, slots: Sequence[int], issue: Sequence[int], retire: Sequence[int], reasons: dict[Event, Reason]
) -> list[int]:
    """The cycle in which each slot is dispatched."""
    dispatch: list[int] = []
    cycle = carried = 0
    reason = Reason(Cause.PIPELINE, None)
    while len(dispatch) < len(slots):
        room, carried = max(block.width - carried, 0), max(carried - block.width, 0)
        while (slot := len(dispatch)) < len(slots):
            i = slots[slot]
            if not room or min(block.micro_ops[i], block.width) > room:
                reason = Reason(Cause.WIDTH, Event(slot - 1, "dispatch"))
                break
            if blocking := _without_room(block, slots, cycle, dispatch, issue, retire):
                reason = Reason(Cause.ROOM, blocking)
                break
            reasons[Event(slot, "dispatch")] = reason
            reason = Reason(Cause.ORDER, Event(slot, "dispatch"))
            dispatch.append(cycle)
            room -= block.micro_ops[i]
            carried, room = carried + max(-room, 0), max(room, 0)
        cycle += 1
    return dispatch


def _without_room(
    block: _Block,
    slots: Sequence[int],
    cycle: int,
    dispatch: Sequence[int],
    issue: Sequence[int],
    retire: Sequence[int],
) -> Event | None:
    """The event that the next slot waits for, because a pool or a buffer has no free entry for it in this cycle."""
    i, dispatched = slots[len(dispatch)], range(len(dispatch))
    kinds: tuple[tuple[str, Sequence[int], Any, Sequence[int]], ...] = (
        ("retire", block.pool_sizes, block.pool_entries, retire),
        ("issue", block.buffer_sizes, block.buffer_entries, issue),
    )
    for name, sizes, entries, freed in kinds:
        for number, size in enumerate(sizes):
            holders = [t for t in dispatched if freed[t] > cycle and entries[slots[t]][number]]
            if entries[i][number] > size - sum(entries[slots[t]][number] for t in holders):
                return Event(min(holders, key=lambda t: (freed[t], t)), name)
    return None


def _issued(
    block: _Block, slots: Sequence[int], issue: Sequence[int], dispatch: Sequence[int], reasons: dict[Event, Reason]
) -> None:
    """Fill in why each slot issues in its cycle and no sooner."""
    writers: dict[int, int] = {}
    for slot, i in enumerate(slots):
        reasons[Event(slot, "issue")] = _reason(block, slots, issue, dispatch, writers, slot)
        writers |= dict.fromkeys(block.targets[i], slot)


def _reason(
    block: _Block,
    slots: Sequence[int],
    issue: Sequence[int],
    dispatch: Sequence[int],
    writers: dict[int, int],
    slot: int,
) -> Reason:
    i, cycle = slots[slot], issue[slot]
    if cycle == dispatch[slot]:  # it needs neither operands nor units
        return Reason(Cause.ORDER, Event(slot, "dispatch"))
    for source in block.sources[i]:
        if (writer := writers.get(source.register)) is not None:
            delay = max(0, block.latency[slots[writer]] - source.is_late * block.advance[i])
            if issue[writer] + delay == cycle:
                return Reason(Cause.RESULT, Event(writer, "issue"))
    if cycle == dispatch[slot] + 1:
        return Reason(Cause.PIPELINE, Event(slot, "dispatch"))
    if block.memory[i] == packing.STORE:
        for earlier in range(slot):
            if block.memory[slots[earlier]] and issue[earlier] == cycle:
                return Reason(Cause.MEMORY, Event(earlier, "issue"))
    needed = 0
    for members, _ in block.uses[i]:
        needed |= members
    rivals = [
        t
        for t in range(len(slots))
        if issue[t] < cycle and any(members & needed for members, _ in block.uses[slots[t]])
    ]
    # The rival that occupied a unit until now, else the last one that took one.
    rival = max(rivals, key=lambda t: (_busy_until(block, slots[t], issue[t], needed) == cycle, issue[t], -t))
    return Reason(Cause.UNIT, Event(rival, "issue"), needed)


def _busy_until(block: _Block, i: int, issue: int, needed: int) -> int:
    return issue + max(cycles for members, cycles in block.uses[i] if members & needed)
