"""Orders of users' blocks: a method proposes, the model of the processor compares, the dependencies decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder

from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.dag.memory_order import BlockConflicts, Mark, MemoryDags, MemoryOrder
from learned_schedulers.blocks.dag.topology import count_violations
from learned_schedulers.blocks.order.confirmation import Confirmer, NewOrder
from learned_schedulers.blocks.order.methods import WITHOUT_PROCESSOR, Batch, By, proposer
from learned_schedulers.blocks.order.reasons import text
from learned_schedulers.blocks.order.targets import FUSING, TARGETS, Target
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.store import store_of
from learned_schedulers.blocks.processors import llvm_mca, model
from learned_schedulers.blocks.processors.chips import Chip
from learned_schedulers.blocks.read.distinct import numbered
from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.leaks import masked
from learned_schedulers.blocks.read.terminators import Terminator
from learned_schedulers.public import checked

UNKNOWN = -1  # cycles
_chip = cache(Chip)
_PINNED = bytes(mark | Mark.FIXED if mark & Mark.FUSED else mark for mark in range(256))


class Status(IntEnum):
    """What became of a block."""

    CHANGED = 0  # it has a new order
    BEST = 1  # no order with fewer cycles was proposed
    SINGLE = 2  # it has one legal order
    UNSUPPORTED = 3  # the processor's model does not know one of its instructions
    UNCONFIRMED = 4  # llvm-mca does not see the gain of the order that was proposed, or sees a loss in a loop


class Ordered(NamedTuple):
    """Orders of B blocks of N instructions."""

    first: np.ndarray  # (B + 1,) int64: instructions of block b are first[b] : first[b + 1]
    order: np.ndarray  # (N,) int16: index of the instruction in each slot, as it was where it is not changed
    status: np.ndarray  # (B,) int8, `Status`
    before: np.ndarray  # (B,) int32 cycles of a single pass in the model of the processor; UNKNOWN if not compared
    after: np.ndarray  # (B,) int32
    loop_before: np.ndarray  # (B,) float64 cycles of a pass in a loop; UNKNOWN where llvm-mca was not asked
    loop_after: np.ndarray  # (B,) float64
    unsupported: dict[int, bytes]  # block -> the first instruction that the model does not know

    def of(self, block: int) -> np.ndarray:
        """The order of one block."""
        order: np.ndarray = self.order[self.first[block] : self.first[block + 1]]
        return order


class Orderer:
    """Orders blocks for one processor by one method. It learns forms of instructions as they come; no threads."""

    @checked
    def __init__(
        self,
        by: By,
        target: Target,
        memory: MemoryOrder,
        weights: Path | None = None,
        seed: int = 0,
        confirm: bool = False,
    ) -> None:
        """confirm: take an order only if llvm-mca sees its gain (`confirmation.py`), by methods that promise one.

        Raises ValueError if the method does not serve the processor, or if llvm-mca is asked for and not installed.
        """
        self.by: By = by
        self.target: Target = target
        self.memory: MemoryOrder = memory
        self.forms = Forms()
        self._dags = MemoryDags(memory, self.forms)
        self._chip, self._method, self._seed = Chip(target, llvm_mca.find()), proposer(by, target, weights), seed
        self._rows = 0  # forms that the chip has
        self._confirmer = Confirmer(target) if confirm and by not in WITHOUT_PROCESSOR else None

    def order(
        self,
        codes: Sequence[bytes],
        marks: Sequence[bytes] | None = None,
        turn: int = 0,
        ends: Sequence[Terminator] | None = None,
    ) -> Ordered:
        """Orders of straight blocks of whole instructions. marks: `Mark` of each instruction, if they are known.

        ends: what ends each block, if it is known. On processors that fuse, an instruction that fuses with the jump
        behind it stays the last, but for --by random_legal.

        turn: number of the call, which seeds random choices, so that orders depend neither on processes nor on other
        calls. A block of more than 64 instructions is ordered in parts of 64. Raises ValueError for a block that is
        not made of whole instructions.
        """
        if isinstance(codes, str | bytes) or not all(isinstance(code, bytes) for code in codes):
            raise ValueError("blocks are a list of bytes, the machine code of each; write bytes.fromhex('4889d8')")
        if marks is not None and self.target in FUSING and self.by != "random_legal":
            marks = [mark.translate(_PINNED) for mark in marks]
        parts, part_marks, owner = self._parts(codes, marks)
        rows: dict[tuple[bytes, bytes], int] = {}
        keys = zip(parts, part_marks or [b""] * len(parts), strict=True)
        row = np.array([rows.setdefault(key, len(rows)) for key in keys], np.int64)
        distinct = [code for code, _ in rows]
        solved = self._solved(distinct, [mark for _, mark in rows] if part_marks else None, turn)
        ordered = _merged(solved, row, owner, len(codes))
        if self._confirmer is not None:
            _confirm(ordered, codes, ends or [Terminator()] * len(codes), self._confirmer)
        return ordered

    def unknown(self, place: str, instruction: bytes) -> Fault:
        """What is said of a block whose instruction the model does not know."""
        name = text(Decoder(64, instruction).decode()).split()[0]
        remedies = ["take --by imitator"]
        if missing := self._chip.missing(instruction):
            remedies.insert(0, missing)
        elif knowing := [target for target in TARGETS if not _chip(target).reason(instruction)]:
            remedies.append(f"--for {knowing[0]}")
        reason = f"the model of {self.target} does not know {name} ({instruction.hex()})"
        return Fault(place, reason, ", or ".join(remedies))

    def _parts(
        self, codes: Sequence[bytes], marks: Sequence[bytes] | None
    ) -> tuple[Sequence[bytes], Sequence[bytes] | None, np.ndarray | None]:
        """Blocks of at most 64 instructions, their marks, and the block of each part; None: every block is one part."""
        decoded = self.forms.read(codes).decoded
        counts = np.diff(decoded.first)
        if counts.max(initial=0) <= LONGEST:
            return codes, marks, None
        length = self.forms.facts["length"][decoded.form].astype(np.int64)
        parts: list[bytes] = []
        part_marks: list[bytes] = []
        owner: list[int] = []
        for block, (begin, end) in enumerate(pairwise(decoded.first.tolist())):
            offsets = np.r_[0, np.cumsum(length[begin:end])]
            for start in range(0, end - begin, LONGEST):
                stop = min(start + LONGEST, end - begin)
                parts.append(codes[block][offsets[start] : offsets[stop]])
                part_marks.append(marks[block][start:stop] if marks else b"")
                owner.append(block)
        return parts, part_marks if marks else None, np.array(owner)

    def _solved(self, codes: list[bytes], marks: list[bytes] | None, turn: int) -> Ordered:
        """Orders of distinct blocks of at most 64 instructions."""
        read = self._dags.conflicts(codes, marks)
        examples = self.forms.examples
        if len(examples) > self._rows:
            self._chip.extend(examples[self._rows :])
            self._rows = len(examples)
        chip = self._chip.chip
        store = store_of(read, self._dags.table.latency[read.effects])
        lengths = np.diff(read.first)
        order = np.arange(read.first[-1], dtype=np.int64) - np.repeat(read.first[:-1], lengths)
        status = np.full(len(codes), Status.SINGLE, np.int8)
        before, after = np.full(len(codes), UNKNOWN, np.int32), np.full(len(codes), UNKNOWN, np.int32)
        choice = store.has_choice(np.arange(len(codes)))
        unknown = _first_unknown(~chip.is_supported[read.forms], read.first)
        needs_model = self.by not in WITHOUT_PROCESSOR
        status[choice & (unknown >= 0)] = Status.UNSUPPORTED
        rows = np.flatnonzero(choice & ((unknown < 0) | (not needs_model)))
        distinct, numbers = self._distinct(codes, read)
        propose = self._method.begin(distinct)
        for number, items in enumerate(by_length(lengths[rows], self._method.instructions)):
            batch_rows = rows[items]
            problems = store.as_emitted(batch_rows)  # its instructions are places, which have a form and a number
            places = problems.instructions
            by_form = replace(problems, instructions=read.forms[places])
            batch = Batch(by_form, chip, numbers[places])
            orders = propose(batch, np.random.default_rng([self._seed, turn, number]))
            if count_violations(problems.precedes, orders).any():
                raise AssertionError(f"--by {self.by} proposed an illegal order; please report it")
            modelled = unknown[batch_rows] < 0
            old, new = self._cycles(batch, orders, modelled)
            before[batch_rows], after[batch_rows] = old, new
            changed = (orders != np.arange(orders.shape[1])).any(1)
            better = changed & ((new < old) | (not needs_model))
            after[batch_rows[~better]] = old[~better]
            status[batch_rows] = Status.BEST
            for block, new_order in zip(batch_rows[better].tolist(), orders[better], strict=True):
                inside = slice(read.first[block], read.first[block + 1])
                in_sequence = self._in_sequence(codes[block], read.forms[inside], new_order)
                if (in_sequence != np.arange(len(new_order))).any():  # else equal instructions changed places
                    order[inside], status[block] = in_sequence, Status.CHANGED
        names = {
            int(block): examples[read.forms[read.first[block] + unknown[block]]]
            for block in np.flatnonzero(status == Status.UNSUPPORTED)
        }
        never = np.full(len(codes), float(UNKNOWN))
        return Ordered(read.first, order.astype(np.int16), status, before, after, never, never.copy(), names)

    def _in_sequence(self, code: bytes, forms: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The same machine code by an order that keeps equal instructions in their sequence."""
        facts = self.forms.facts[forms]
        ends = np.cumsum(facts["length"].astype(np.int64)).tolist()
        instructions = [code[begin:end] for begin, end in pairwise([0, *ends])]
        if len(set(instructions)) == len(instructions):
            return order
        equal: dict[bytes, list[int]] = {}
        for i in sorted(range(len(order)), reverse=True):
            # What a linker or the address distinguishes is not equal.
            key = instructions[i] if facts["displacement_bytes"][i] < 4 else instructions[i] + b"%d" % i
            equal.setdefault(key, []).append(i)
            instructions[i] = key
        return np.array([equal[instructions[i]].pop() for i in order.tolist()])

    def _distinct(self, codes: list[bytes], read: BlockConflicts) -> tuple[list[bytes], np.ndarray]:
        """The distinct masked instructions, and the number of each of the N among them, if the method is a network."""
        if self.by != "imitator":
            return [], np.zeros(len(read.forms), np.int32)
        whole = self.forms.read(codes)
        hidden = masked(whole.code, whole.begin, whole.decoded, self.forms.facts)
        return numbered(hidden, whole.begin, whole.decoded, self.forms.facts)

    def _cycles(self, batch: Batch, orders: np.ndarray, modelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cycles of blocks as they were and in new orders, (B,) each; UNKNOWN where the model does not know them."""
        old, new = np.full(len(orders), UNKNOWN, np.int32), np.full(len(orders), UNKNOWN, np.int32)
        if modelled.any():
            same = np.broadcast_to(np.arange(orders.shape[1], dtype=orders.dtype), orders.shape)
            costs = model.costs(batch.chip, batch.problems.instructions[modelled])
            cycles = model.makespans(costs, np.stack([same, orders], 1)[modelled])
            old[modelled], new[modelled] = cycles.T
        return old, new


def _first_unknown(flags: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Index in its block of the first instruction with a flag, -1 for none; (B,) int64."""
    places = np.r_[np.flatnonzero(flags), len(flags)]
    nearest = places[np.searchsorted(places, first[:-1])]
    return np.where(nearest < first[1:], nearest - first[:-1], -1)


def _merged(solved: Ordered, row: np.ndarray, owner: np.ndarray | None, size: int) -> Ordered:
    """Orders of blocks from those of their distinct parts. row: of each part; owner: the block of each part."""
    lengths = np.diff(solved.first)[row]
    starts = np.cumsum(lengths) - lengths
    places = np.repeat(solved.first[row] - starts, lengths) + np.arange(lengths.sum())
    order = solved.order[places].astype(np.int64)
    status, before, after = solved.status[row], solved.before[row], solved.after[row]
    unsupported = {k: solved.unsupported[r] for k, r in enumerate(row.tolist()) if r in solved.unsupported}
    never = np.full(size, float(UNKNOWN))
    if owner is None:
        first = np.r_[0, np.cumsum(lengths)]
        return Ordered(first, order.astype(np.int16), status, before, after, never, never.copy(), unsupported)
    begin = np.searchsorted(owner, np.arange(size + 1))
    order += np.repeat(starts - np.r_[starts, 0][begin[owner]], lengths)
    first = np.r_[starts, lengths.sum()][begin]
    several = [slice(*pair) for pair in pairwise(begin.tolist())]
    return Ordered(
        first,
        order.astype(np.int16),
        np.array([status[part].min() for part in several], np.int8),
        np.array([before[part].sum() if (before[part] >= 0).all() else UNKNOWN for part in several], np.int32),
        np.array([after[part].sum() if (after[part] >= 0).all() else UNKNOWN for part in several], np.int32),
        never,
        never.copy(),
        {int(owner[k]): code for k, code in reversed(unsupported.items())},
    )


def _confirm(ordered: Ordered, codes: Sequence[bytes], ends: Sequence[Terminator], confirmer: Confirmer) -> None:
    """Ask llvm-mca about the new orders; what it does not confirm is undone. Its cycles are those that are reported."""
    changed = np.flatnonzero(ordered.status == Status.CHANGED).tolist()
    orders = [NewOrder(codes[k], tuple(ordered.of(k).tolist()), ends[k]) for k in changed]
    for k, new, cycles in zip(changed, orders, confirmer.cycles(orders), strict=True):
        if cycles.confirms(new.end.repeats):
            ordered.before[k], ordered.after[k] = cycles.before, cycles.after
            ordered.loop_before[k], ordered.loop_after[k] = cycles.loop_before, cycles.loop_after
        else:
            ordered.of(k)[:] = np.arange(len(new.order))
            ordered.status[k], ordered.after[k] = Status.UNCONFIRMED, ordered.before[k]
