"""One order of one block in the model of a processor, event by event: when, and why no sooner.

An event is an instruction's dispatch, issue, end of execution or retirement. Each event has the one that it waited for.
Walking back from the last event gives the chain that decides the makespan; the cycles of its links add up to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.processors.costs import Processor


class Cause(Enum):
    """Why an event came no sooner; the values are words for people."""

    RESULT = "results of earlier instructions"
    UNIT = "busy units"
    WIDTH = "micro-ops that fit into a cycle"
    ROOM = "full buffers of the processor"
    WRITE_BACK = "write-back in order"
    RETIREMENT = "instructions that retire in a cycle"
    MEMORY = "stores behind earlier accesses"
    ORDER = "the instruction before"  # in the same cycle: it takes no time
    PIPELINE = "entering and leaving the pipeline"


class Event(NamedTuple):
    """Something that happens to the instruction in a slot."""

    slot: int
    name: str  # dispatch | issue | end | retire


class Reason(NamedTuple):
    """What an event waited for; `earlier` is None for the first event, which begins in cycle 0."""

    cause: Cause
    earlier: Event | None
    units: int = 0  # bit set of those that it waited for


class Link(NamedTuple):
    """A part of the chain that decides the makespan: so many cycles between two events."""

    cause: Cause
    cycles: int
    slot: int  # of the later event


class Step(NamedTuple):
    """The instruction in one slot. On a processor that issues in order, it is dispatched when it issues."""

    instruction: int  # index in the block as it was
    dispatch: int  # cycle, from 0
    issue: int
    end: int  # cycle in which its result is written back
    retire: int
    reason: Reason  # why it did not issue sooner


class Trace(NamedTuple):
    """An order of a block in the model."""

    steps: tuple[Step, ...]  # by slot
    chain: tuple[Link, ...]  # that decides the makespan, from its beginning
    makespan: int  # cycles of a single pass
    in_order: bool  # how the processor issues

    def causes(self) -> dict[Cause, int]:
        """Cycles of the chain by their cause, the most first; they add up to the makespan."""
        cycles: dict[Cause, int] = {}
        for link in self.chain:
            cycles[link.cause] = cycles.get(link.cause, 0) + link.cycles
        return {cause: cycles[cause] for cause in Cause if cycles.get(cause)}


def trace(processor: Processor, rows: Sequence[int], order: Sequence[int]) -> Trace:
    """The trace of an order. rows: of the processor's table, of the block's n <= 64 instructions; order: (n,).

    Raises ValueError for an instruction that the model does not support, or an order that is no permutation.
    """
    from learned_schedulers.blocks.order import in_order_trace, out_of_order_trace

    if sorted(order) != list(range(len(rows))):
        raise ValueError(f"{list(order)} is no order of {len(rows)} instructions")
    instructions, slots = np.array(rows, np.int64)[None], np.array(order, np.int64)
    if processor.issues_in_order:
        return in_order_trace.trace(processor.costs(instructions), slots)
    return out_of_order_trace.trace(processor.out_of_order_costs(instructions), slots)


def chain(reasons: Mapping[Event, Reason], cycles: Mapping[Event, int], last: Event) -> tuple[Link, ...]:
    """The links from the beginning to the last event. cycles: when each event happens."""
    links: list[Link] = []
    event: Event | None = last
    while event is not None:
        reason = reasons[event]
        before = 0 if reason.earlier is None else cycles[reason.earlier]
        links.append(Link(reason.cause, cycles[event] - before, event.slot))
        event = reason.earlier
    return tuple(reversed(links))
