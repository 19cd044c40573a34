"""What no order of a block can undercut in the model of a processor: dependencies, units, micro-ops per cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from learned_schedulers.blocks.processors.costs import Processor

Kind = Literal["path", "units", "width"]


class Bound(NamedTuple):
    """Least cycles of a single pass, for one reason."""

    kind: Kind
    cycles: int  # at least so many, whatever the order
    work: int  # path: cycles of its results; units: cycles that they are busy, together; width: micro-ops
    instructions: tuple[int, ...]  # path: along it; units: those that occupy them; width: all
    units: int = 0  # bit set
    width: int = 0  # micro-ops per cycle


class Bounds(NamedTuple):
    """The three bounds of a block."""

    path: Bound
    units: Bound
    width: Bound

    @property
    def binding(self) -> Bound:
        """The highest of the bounds."""
        return max(self, key=lambda bound: bound.cycles)


def lower_bounds(processor: Processor, rows: Sequence[int]) -> Bounds:
    """Bounds on the makespan of all legal orders of a block: those that keep the last writer of every register read.

    rows: of the processor's table, of the block's n >= 1 instructions. Each bound assumes that nothing but its own
    resource is scarce: work waits until its operands can be there, and results run to the end of their paths.
    """
    instructions = np.array(rows, np.int64)
    delays = _delays(processor, instructions)
    latencies, micro_ops = processor.latencies[instructions], processor.micro_ops[instructions]
    begin, end = _overhead(processor, instructions)
    heads, tails = begin.copy(), latencies.astype(np.int64)  # soonest issue; from issue to the end of all that depends
    after = np.full(len(rows), -1)  # the next instruction of the longest path from each
    for k in range(len(rows)):
        for i in np.flatnonzero(delays[:, k] >= 0).tolist():
            heads[k] = max(heads[k], heads[i] + delays[i, k])
    for i in range(len(rows) - 1, -1, -1):
        for k in np.flatnonzero(delays[i] >= 0).tolist():
            if delays[i, k] + tails[k] > tails[i]:
                tails[i], after[i] = delays[i, k] + tails[k], k
    return Bounds(
        _path(begin, tails, after, end),
        _units(processor, instructions, heads, tails, end),
        _width(processor, micro_ops, begin, tails, end),
    )


def _overhead(processor: Processor, instructions: np.ndarray) -> tuple[np.ndarray, int]:
    """The first cycle in which each instruction can issue, (n,), and the cycles from the last write-back to the end."""
    if processor.issues_in_order:
        return np.zeros(len(instructions), np.int64), 1
    needs_units = (processor.unit_cycles[instructions] > 0).any(1) | (processor.choices[instructions, 0] >= 0)
    at_once = (processor.latencies[instructions] == 0) & ~needs_units  # it is executed when it is dispatched
    return (~at_once).astype(np.int64), 2  # retirement, and the end of that cycle


def _delays(processor: Processor, instructions: np.ndarray) -> np.ndarray:
    """[i, k]: least cycles from the issue of i to that of k, which reads its result; else -1. (n, n) int64."""
    reads, late_reads, writes = (
        _bits(getattr(processor.registers, name)[instructions]) for name in ("reads", "late_reads", "writes")
    )
    latencies, advances = processor.latencies[instructions], processor.read_advance[instructions]
    delays = np.full((len(instructions), len(instructions)), -1, np.int64)
    writer = np.full(reads.shape[1], -1)
    for k in range(len(instructions)):
        for early, registers in ((False, late_reads[k] & ~reads[k]), (True, reads[k])):
            for i in np.unique(writer[registers & (writer >= 0)]):
                delay = latencies[i] if early else max(0, latencies[i] - advances[k])
                delays[i, k] = max(delays[i, k], delay)
        writer[writes[k]] = k
    return delays


def _bits(words: np.ndarray) -> np.ndarray:
    """Words (n, 3) uint64 as flags (n, 192)."""
    flags: np.ndarray = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little") > 0
    return flags


def _path(begin: np.ndarray, tails: np.ndarray, after: np.ndarray, end: int) -> Bound:
    """The longest path of results."""
    first = int((begin + tails).argmax())
    path = [first]
    while after[path[-1]] >= 0:
        path.append(int(after[path[-1]]))
    return Bound("path", int(begin[first] + tails[first]) + end, int(tails[first]), tuple(path))


def _units(processor: Processor, instructions: np.ndarray, heads: np.ndarray, tails: np.ndarray, end: int) -> Bound:
    """The set of units whose work keeps it busy longest.

    The work that only the units of a set can do is shared evenly at best (Hall's theorem); it begins with the soonest
    of its instructions. It suffices to look at unions of the groups that occur.
    """
    most = 1 if processor.issues_in_order else processor.choices.shape[1]  # choices that the in-order model knows
    uses: list[tuple[int, int, int]] = []  # instruction, set of units, cycles
    for i, row in enumerate(instructions.tolist()):
        definite = processor.unit_cycles[row]
        uses += [(i, 1 << int(unit), int(definite[unit])) for unit in np.flatnonzero(definite)]
        for choice, cycles in zip(processor.choices[row, :most], processor.choice_cycles[row, :most], strict=True):
            if choice >= 0 and cycles > 0:
                uses.append((i, int(processor.groups[choice]), int(cycles)))
    best = Bound("units", 0, 0, ())
    for members in sorted(_unions({members for _, members, _ in uses}), key=lambda units: (units.bit_count(), units)):
        inside = [(i, cycles) for i, units, cycles in uses if units | members == members]
        work = sum(cycles for _, cycles in inside)
        busy = -(-work // members.bit_count())
        # The use that ends last began so many cycles before; what depends on it follows.
        bound = min(int(heads[i]) for i, _ in inside) + busy + min(int(tails[i]) - c for i, c in inside) + end
        if bound > best.cycles:
            best = Bound("units", bound, work, tuple(dict.fromkeys(i for i, _ in inside)), members)
    return best


def _unions(sets: set[int], most: int = 4096) -> set[int]:
    """All unions of some of the sets, or `most` of them."""
    unions: set[int] = set()
    for members in sorted(sets):
        unions |= {members} | {members | union for union in unions}
        if len(unions) > most:
            break
    return unions | sets


def _width(processor: Processor, micro_ops: np.ndarray, begin: np.ndarray, tails: np.ndarray, end: int) -> Bound:
    """Micro-ops issue, or are dispatched, so many a cycle; the last instruction of them runs to its end."""
    width, total = processor.issue_width, int(micro_ops.sum())
    # Cycle in which each instruction begins if it is the last one: a long one begins before its last micro-ops, out of
    # order in a cycle of its own.
    rest = np.where(micro_ops > width, total - micro_ops, total)
    last = -(-rest // width) - ((micro_ops <= width) | processor.issues_in_order)
    soonest = int((np.maximum(last, 0) + begin + tails).min())
    if processor.issues_in_order:  # all micro-ops of the last instruction issue
        soonest = max(soonest, -(-total // width) - 1)
    return Bound("width", soonest + end, total, tuple(range(len(micro_ops))), width=width)
