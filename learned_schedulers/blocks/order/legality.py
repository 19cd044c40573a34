"""Whether blocks are legal orders of others, with the pairs and reasons where they are not; whole files, compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.effects import decode_block
from learned_schedulers.blocks.dag.memory_order import Mark, MemoryDags, MemoryOrder
from learned_schedulers.blocks.order.matching import Order, orders_of
from learned_schedulers.blocks.order.reasons import reason, text
from learned_schedulers.blocks.read.document import CodeBlock, Document

_BATCH = 2000  # blocks whose dependencies are computed at once
_TOO_LONG = f"in a block of more than {LONGEST} instructions, an order is proven only within each {LONGEST} of them"


class Violation(NamedTuple):
    """Two instructions, by their numbers in the block before, that stand in the wrong order after."""

    before: int
    after: int
    reason: str


class Judgement(NamedTuple):
    """Whether a block is a legal order of another."""

    order: Order | None  # order[t]: the instruction in slot t; None if the blocks have other instructions
    violations: tuple[Violation, ...] = ()
    reason: str = ""  # why there is no order

    @property
    def is_legal(self) -> bool:
        return self.order is not None and not self.violations


class Difference(NamedTuple):
    """A part in which two files differ."""

    place: str  # in the file before
    kind: Literal["legal", "illegal", "changed", "outside"]  # changed: in more than the order of a block
    order: Order = ()
    violations: tuple[Violation, ...] = ()
    reason: str = ""


class Legality:
    """Judges pairs of blocks under a model of memory. It learns forms of instructions as they come; no threads."""

    def __init__(self, memory: MemoryOrder) -> None:
        self.memory: MemoryOrder = memory
        self._dags = MemoryDags(memory)
        self.forms = self._dags.forms
        self._of_one_thread = MemoryDags("single_thread", self.forms)

    def judge(self, before: Sequence[CodeBlock], after: Sequence[bytes]) -> list[Judgement]:
        """A judgement of each block and its code after. The dependencies are those of `before`, with its marks.

        Raises ValueError for a block that is not made of whole instructions, or has a wrong number of marks.
        """
        judgements: list[Judgement] = []
        for begin in range(0, len(before), _BATCH):
            judgements += self._judged(before[begin : begin + _BATCH], after[begin : begin + _BATCH])
        return judgements

    def _judged(self, before: Sequence[CodeBlock], after: Sequence[bytes]) -> list[Judgement]:
        orders = orders_of([(block.code, block.marks) for block in before], after, self.forms)
        judgements = [Judgement(order) for order in orders]
        moved = [k for k, judgement in enumerate(judgements) if judgement.order and _moves(judgement.order)]
        violations = self._violations([before[k] for k in moved], [judgements[k].order or () for k in moved])
        for k, pairs in zip(moved, violations, strict=True):
            judgements[k] = judgements[k]._replace(violations=pairs)
        for k, judgement in enumerate(judgements):
            if judgement.order is None:
                judgements[k] = judgement._replace(reason=_other_instructions(before[k].code, after[k]))
        return judgements

    def _violations(self, blocks: Sequence[CodeBlock], orders: Sequence[Order]) -> list[tuple[Violation, ...]]:
        """The pairs of each block that an order reverses and must not."""
        codes: list[bytes] = []
        marks: list[bytes] = []
        owner: list[tuple[int, int]] = []  # block, and the number of a part's first instruction
        slots: list[np.ndarray] = []
        for k, (block, order) in enumerate(zip(blocks, orders, strict=True)):
            slot = np.argsort(order)
            for start, code in _parts(block.code, len(order)):
                codes.append(code)
                marks.append(block.marks[start : start + LONGEST])
                owner.append((k, start))
                slots.append(slot[start : start + LONGEST])
        violations: list[list[Violation]] = [[] for _ in blocks]
        if not codes:
            return []
        read = self._dags.conflicts(codes, marks)
        part = np.repeat(np.arange(len(codes)), np.diff(read.conflicts.offsets))
        slot_of = np.concatenate(slots)
        first, second = (read.first[part] + numbers for numbers in (read.conflicts.before, read.conflicts.after))
        reversed_pairs: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for edge in np.flatnonzero(slot_of[first] > slot_of[second]).tolist():
            pair = int(read.conflicts.before[edge]), int(read.conflicts.after[edge])
            reversed_pairs[int(part[edge])].append(pair)
        for number, pairs in reversed_pairs.items():
            k, start = owner[number]
            violations[k] += [
                Violation(start + i, start + j, words)
                for (i, j), words in zip(pairs, self._reasons(codes[number], marks[number], pairs), strict=True)
            ]
        return [(*pairs, *_between_parts(order)) for pairs, order in zip(map(tuple, violations), orders, strict=True)]

    def _reasons(self, code: bytes, marks: bytes, pairs: Sequence[tuple[int, int]]) -> list[str]:
        """Why pairs of a block must stay in order."""
        movable = bytes(mark & ~Mark.FIXED for mark in marks)
        of_one_thread = self._of_one_thread.conflicts([code], [movable]).conflicts
        numbers = zip(of_one_thread.before.tolist(), of_one_thread.after.tolist(), strict=True)
        kinds = dict(zip(numbers, map(Kind, of_one_thread.kinds.tolist()), strict=True))
        instructions = decode_block(code)
        return [
            reason((instructions[i], instructions[j]), (marks[i], marks[j]), kinds.get((i, j), Kind(0)), self.memory)
            for i, j in pairs
        ]


def _moves(order: Order) -> bool:
    return any(slot != i for slot, i in enumerate(order))


def _parts(code: bytes, n: int) -> Iterator[tuple[int, bytes]]:
    """Each part of at most LONGEST instructions: the number of its first one, and its code."""
    if n <= LONGEST:
        yield 0, code
        return
    starts = [instruction.ip for instruction in decode_block(code)][::LONGEST]
    for k, (begin, end) in enumerate(pairwise([*starts, len(code)])):
        yield k * LONGEST, code[begin:end]


def _between_parts(order: Order) -> Iterator[Violation]:
    """For each instruction that left its part, the first one of another part that it passed."""
    for slot, i in enumerate(order):
        if i // LONGEST != slot // LONGEST:
            passed = [j for j in order[slot + 1 :] if j < i] or [j for j in order[:slot] if j > i]
            others = [j for j in passed if j // LONGEST != i // LONGEST]
            if others:
                yield Violation(min(i, others[0]), max(i, others[0]), _TOO_LONG)


def _other_instructions(before: bytes, after: bytes) -> str:
    """In words, an instruction that only one of two blocks has."""
    old, new = ([text(instruction) for instruction in decode_block(code)] for code in (before, after))
    for texts, others, words in ((old, new, "is gone"), (new, old, "is new")):
        rest = Counter(texts) - Counter(others)
        for line in texts:
            if rest[line]:
                return f"{line} {words}, or it has another target"
    return "an instruction has another target, or its bytes differ"


def compare(before: Document, after: Document, memory: MemoryOrder) -> Iterator[Difference]:
    """Where two files differ, and whether that is by legal orders of blocks only. Nothing: they are equal.

    Blocks are compared in their sequence, or by place if the files have not equally many. At the end, the file before
    is rewritten with the orders of all blocks, and its bytes are compared with those of the file after.
    """
    legality = Legality(memory)
    orders: dict[int, Order] = {}
    pairs, unmatched = paired(before, after)
    n_changed = len(unmatched)
    for place in unmatched:
        yield Difference(place, "changed", reason="one of the files has no block at this place")
    for begin in range(0, len(pairs), _BATCH):
        batch = [(k, code) for k, code in pairs[begin : begin + _BATCH] if before.blocks[k].code != code]
        try:
            judgements = legality.judge([before.blocks[k] for k, _ in batch], [code for _, code in batch])
        except ValueError:  # bytes that are no instructions; which block has them?
            judgements = [_alone(legality, before.blocks[k], code) for k, code in batch]
        for (k, _), judgement in zip(batch, judgements, strict=True):
            place = before.blocks[k].place
            if judgement.order is None:
                n_changed += 1
                yield Difference(place, "changed", reason=judgement.reason)
                continue
            orders[k] = judgement.order
            kind: Literal["legal", "illegal"] = "legal" if judgement.is_legal else "illegal"
            yield Difference(place, kind, judgement.order, judgement.violations)
    rewritten, actual = before.rewritten(orders), after.rewritten({})
    if rewritten != actual:
        words = "bytes outside of blocks, or of what belongs to their instructions, differ"
        if n_changed:
            words = f"not compared, because {n_changed} blocks differ in more than their order"
        yield Difference(_first_difference(rewritten, actual), "outside", reason=words)


def _alone(legality: Legality, block: CodeBlock, code: bytes) -> Judgement:
    try:
        return legality.judge([block], [code])[0]
    except ValueError as error:
        return Judgement(None, reason=str(error))


def paired(before: Document, after: Document) -> tuple[list[tuple[int, bytes]], list[str]]:
    """Blocks of `before` with their codes after, and places of blocks that only one of the files has."""
    if len(before.blocks) == len(after.blocks):
        return [(k, block.code) for k, block in enumerate(after.blocks)], []
    codes = {block.place: block.code for block in after.blocks}
    pairs = [(k, codes[block.place]) for k, block in enumerate(before.blocks) if block.place in codes]
    matched = {before.blocks[k].place for k, _ in pairs}
    return pairs, [block.place for side in (before, after) for block in side.blocks if block.place not in matched]


def _first_difference(old: bytes, new: bytes) -> str:
    """The line of the first byte that differs."""
    a, b = (np.frombuffer(side[: min(len(old), len(new))], np.uint8) for side in (old, new))
    different = np.flatnonzero(a != b)
    place = int(different[0]) if len(different) else len(a)
    return f"line {old[:place].count(10) + 1}"
