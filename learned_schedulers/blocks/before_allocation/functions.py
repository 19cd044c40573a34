"""Text of LLVM's intermediate code -> its functions, their blocks, and what may move in each block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
