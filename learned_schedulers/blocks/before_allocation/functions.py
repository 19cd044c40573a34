"""LLVM's intermediate code -> its functions, and what may move in their blocks; texts in new orders, proven."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

_DEFINE = re.compile(r'^define .*?@("(?:[^"\\]|\\.)*"|[-\w$.]+)\(')
_LABEL = re.compile(r'^("(?:[^"\\]|\\.)*"|[-\w$.]+):')
_RESULT = re.compile(r'^(%(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)) = ')
_TERMINATORS = frozenset(("ret", "br", "switch", "indirectbr", "invoke", "callbr", "resume", "unreachable"))
_TERMINATORS |= {"cleanupret", "catchret", "catchswitch"}
_HEADS = frozenset(["phi", "landingpad", "catchpad", "cleanuppad"])
_MARKS = frozenset(["tail", "musttail", "notail"])  # before `call`


class Item(NamedTuple):
    """An instruction, behind the debug records that stand before it."""

    lines: tuple[str, ...]  # the last one is the instruction
    result: str  # %name, or empty
    opcode: str


class Block(NamedTuple):
    """A basic block of a function."""

    label: str
    begin: int  # line of the text at which its items begin
    items: tuple[Item, ...]  # n: all but PHI nodes, exception pads and the terminator
    rest: tuple[str, ...] = ()  # the other lines: they stay where they are
    left_alone: str = ""  # why its order is kept; empty if it may change


class Function(NamedTuple):
    """A function with a body."""

    name: str
    head: str  # its first line
    blocks: tuple[Block, ...]

    @property
    def at(self) -> str:
        """@name, as the text writes it."""
        opened = _DEFINE.match(self.head)
        assert opened
        return f"@{opened[1]}"

    @property
    def symbol(self) -> str:
        """Its name in assembly."""
        name = re.sub(r"\\([0-9A-Fa-f]{2})", lambda code: chr(int(code[1], 16)), self.name)
        return name.removeprefix("\x01").encode("latin-1", "replace").decode("utf-8", "replace")


def functions(text: str) -> Iterator[Function]:
    """The functions of a text that `llvm.read` gave, in sequence."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        if not (opened := _DEFINE.match(lines[number])):
            number += 1
            continue
        end = lines.index("}", number)
        yield Function(opened[1].strip('"'), lines[number], tuple(_blocks(lines, number + 1, end)))
        number = end + 1


def _blocks(lines: list[str], begin: int, end: int) -> Iterator[Block]:
    label, first = "", begin
    for number in range(begin, end + 1):
        named = None if number == end else _LABEL.match(lines[number])
        if named or number == end:
            if number > first or label:
                yield _block(lines, label, first, number)
            label, first = named[1] if named else "", number + 1


def _block(lines: list[str], label: str, begin: int, end: int) -> Block:
    """The block of these lines."""
    items: list[Item] = []
    records: list[str] = []
    start, open_head = begin, True
    for number in range(begin, end):
        line = lines[number]
        if not line.strip():
            continue
        if line.startswith("    #dbg_"):
            records.append(line)
            continue
        if not re.match(r"  \S", line):
            if open_head and not records:  # a line of an exception pad
                start = number + 1
                continue
            reason = f"a line that is not understood: {line.strip()[:60]}"
            return Block(label, begin, (), tuple(lines[begin:end]), reason)
        result, opcode = _parts(line[2:])
        if opcode in _TERMINATORS:
            break
        if opcode in _HEADS:
            start, open_head = number + 1, True
            records.clear()
            continue
        open_head = False
        items.append(Item((*records, line), result, opcode))
        records = []
    else:
        return Block(label, begin, (), tuple(lines[begin:end]), "it has no terminator that is understood")
    rest = (*lines[begin:start], *lines[start + sum(len(item.lines) for item in items) : end])
    if any(item.lines[-1].lstrip().startswith("musttail") or " musttail " in item.lines[-1] for item in items):
        return Block(label, start, tuple(items), rest, "a call that must be the last")
    return Block(label, start, tuple(items), rest)


def _parts(instruction: str) -> tuple[str, str]:
    """Result and opcode."""
    named = _RESULT.match(instruction)
    rest = instruction[named.end() :] if named else instruction
    words = rest.split(None, 2)
    opcode = words[1] if words[0] in _MARKS and len(words) > 1 else words[0]
    return named[1] if named else "", opcode.rstrip(",")  # as `unreachable, !dbg !7`


def reordered(text: str, orders: Iterable[tuple[Block, np.ndarray]]) -> str:
    """The text with each of these blocks in its order, (n,): order[t] is the index of the item in slot t.

    Raises ValueError if an order is no permutation.
    """
    lines = text.split("\n")
    for block, order in orders:
        if not np.array_equal(np.sort(order), np.arange(len(block.items))):
            raise ValueError(f"block {block.label or 'entry'}: the order is no permutation of its instructions")
        moved = [line for i in order.tolist() for line in block.items[i].lines]
        lines[block.begin : block.begin + len(moved)] = moved
    return "\n".join(lines)


class NotProven(ValueError):
    """The new text is another program, or may be: a defect of this laboratory."""


def prove(before: str, after: str, precedes: Mapping[tuple[str, str], np.ndarray]) -> None:
    """Raises NotProven, with the place, where `after` is not `before` with blocks in legal orders.

    precedes: (n, n) of each block that may have changed, by the names of its function and itself; all others are equal.
    """
    rest = [after.split("\n"), before.split("\n")]
    for new, old in zip(functions(after), functions(before), strict=True):
        if new.head != old.head or len(new.blocks) != len(old.blocks):
            raise NotProven(f"{old.name}: its blocks are others")
        for block, source in zip(new.blocks, old.blocks, strict=True):
            place = f"{old.name}, block {source.label or 'entry'}"
            if (before_each := precedes.get((old.name, source.label))) is not None:
                slots = _slots(source, block, place)
                if (before_each & (slots[:, None] > slots)).any():
                    raise NotProven(f"{place}: its order breaks a dependency")
                for lines, begin in zip(rest, (block.begin, source.begin), strict=True):
                    size = sum(len(item.lines) for item in source.items)
                    lines[begin : begin + size] = [""] * size
    if rest[0] != rest[1]:
        number = next(i for i, (new_line, line) in enumerate(zip(*rest, strict=False), 1) if new_line != line)
        raise NotProven(f"line {number}: it changed, outside of the blocks that were ordered")


def _slots(source: Block, block: Block, place: str) -> np.ndarray:
    """(n,): the slot of each item of `source` in `block`; equal items keep their sequence."""
    positions: defaultdict[tuple[str, ...], deque[int]] = defaultdict(deque)
    for slot, item in enumerate(block.items):
        positions[item.lines].append(slot)
    if len(block.items) != len(source.items) or any(not positions[item.lines] for item in source.items):
        raise NotProven(f"{place}: its instructions are others")
    try:
        return np.array([positions[item.lines].popleft() for item in source.items])
    except IndexError:
        raise NotProven(f"{place}: its instructions are others") from None
