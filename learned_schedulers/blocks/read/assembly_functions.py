"""Functions of an assembly file: what is certain of their frames on the stack (`dag/frames.py`).

A function is what lies between `.cfi_startproc` and `.cfi_endproc`, or between its label and `.size`. Nothing is
assumed of it if a part of it is elsewhere (`.cold`), if it contains anything that is not understood, if other code may
jump into its middle or fall into it, if it jumps to what is not the beginning of a function, or if it may call a
function that returns twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from iced_x86 import Decoder, FlowControl, Instruction, OpKind

from learned_schedulers.blocks.dag.frames import frame_marks
from learned_schedulers.blocks.read.joined_code import SHIFT
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.statements import PADDING, Kind, Source

_TARGET = re.compile(r"(?:notrack\s+|bnd\s+)*\S+\s+([\w.$]+)(?:@(?:PLT|plt))?")
_TEXTS = (".string", ".ascii", ".asciz")
_TWICE = re.compile(r"setjmp|savectx|getcontext|vfork")  # GCC's list (calls.cc, special_function_p), with any prefix
_ENDS = (FlowControl.RETURN, FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.CALL,
         FlowControl.INDIRECT_CALL, FlowControl.EXCEPTION, FlowControl.INTERRUPT)  # fmt: skip


class Function(NamedTuple):
    """Lines [first, last) of a function."""

    first: int
    last: int


def _function_names(source: Source) -> frozenset[str]:
    names = (
        statement.operands.partition(",")
        for statement in source.statements
        if statement.word == ".type" and "function" in statement.operands
    )
    return frozenset(name.strip().strip('"') for name, _, _ in names)


def functions(source: Source) -> Iterator[Function]:
    """The functions of a file, in the sequence of its lines; they do not overlap."""
    names = _function_names(source)
    frame, label, name = -1, -1, ""
    for line, statement in enumerate(source.statements):
        if statement.word == ".cfi_startproc" and statement.kind == Kind.SILENT:
            frame = line
        elif statement.word == ".cfi_endproc" and frame >= 0:
            yield Function(frame, line)
            frame, label = -1, -1
        elif statement.kind == Kind.LABEL and statement.word in names and frame < 0:
            label, name = line, statement.word
        elif statement.word == ".size" and label >= 0 and statement.operands.partition(",")[0].strip() == name:
            if frame < 0:
                yield Function(label, line)
            label = -1


def _returning_twice(source: Source) -> list[int] | None:
    """Lines of calls of functions that return twice, ascending.

    None if something else than a call names such a function (an alias, a pointer, a jump), so that any call may be one.
    """
    lines = set(_marked_calls(source))
    for line, statement in enumerate(source.statements):
        if statement.kind > Kind.SILENT and statement.word not in _TEXTS and _TWICE.search(statement.text):
            if statement.kind != Kind.INSTRUCTION or not statement.word.startswith("call"):
                return None
            lines.add(line)
        elif statement.word in (".weakref", ".symver") and _TWICE.search(statement.operands):
            return None
    return sorted(lines)


def _marked_calls(source: Source) -> Iterator[int]:
    """Lines of `endbr64` right behind a call, which compilers (-fcf-protection) write if the call returns twice."""
    behind_call = False
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.INSTRUCTION:
            if behind_call and statement.word == "endbr64":
                yield line
            behind_call = statement.word.startswith("call")
        elif statement.kind == Kind.LABEL or statement.word == ".cfi_endproc":
            behind_call &= statement.kind == Kind.LABEL and statement.word not in source.references  # of debuggers
        elif statement.kind > Kind.INSTRUCTION:
            behind_call = False


class _Frames:
    """Marks of the instructions of a listing, function by function."""

    def __init__(self, source: Source, part: Listing, inner: np.ndarray) -> None:
        self._source, self._part, self._inner = source, part, inner
        self._names = _function_names(source)
        self._twice = _returning_twice(source)
        self._labels = {
            statement.word: line for line, statement in enumerate(source.statements) if statement.kind == Kind.LABEL
        }
        self.marks = np.zeros(len(part.line), np.uint8)
        # Lines of labels that code jumps to by name, and of the jumps. Only the names are known across sections.
        self._jumps: list[tuple[int, int]] = []  # line of the label, line of the jump
        for line in part.line.tolist():
            if (target := self._target(line)) in self._labels:
                self._jumps.append((self._labels[target], line))
        self._jumps.sort()
        self._jump_labels = np.array([label for label, _ in self._jumps], np.int64)
        self._opaque_names = frozenset(
            name
            for statement in source.statements
            if statement.kind == Kind.OPAQUE
            for name in re.findall(r"[\w.$]+", statement.text)
        )

    def _target(self, line: int) -> str:
        """The name that a direct jump or call leads to, or that an operand starts with; empty if there is none."""
        match = _TARGET.fullmatch(self._source.statements[line].text)
        return match.group(1) if match else ""

    def _understood(self, function: Function, first: int, last: int) -> bool:
        """Whether the instructions [first, last) are all that the function consists of, apart from padding."""
        part, statements = self._part, self._source.statements
        if len(np.unique(part.section[first:last])) != 1:
            return False
        lines = set(part.line[first:last].tolist())
        padding = False
        previous = first - 1
        for line in range(function.first, function.last):
            statement = statements[line]
            if statement.kind == Kind.OPAQUE or (statement.kind == Kind.INSTRUCTION and line not in lines):
                return False
            if self._source.inline[line]:
                return False
            padding |= statement.word in PADDING
            if line in lines:
                previous += 1
                if previous > first and part.begin[previous] != part.end[previous - 1] and not padding:
                    return False
                padding = False
        return True

    def _entered(self, function: Function, first: int, last: int) -> bool:
        """Whether code outside may jump, call or fall into its middle."""
        if self._inner[first + 1 : last].any():
            return True
        low, high = np.searchsorted(self._jump_labels, (function.first, function.last)).tolist()
        begin = int(self._part.line[first])
        for label, jump in self._jumps[low:high]:
            outside = not function.first <= jump < function.last
            if outside and label > begin:
                return True
        section = int(self._part.section[first]) << SHIFT
        low_key, high_key = section + int(self._part.begin[first]), section + int(self._part.end[last - 1])
        starts, targets = self._part.branches
        low, high = np.searchsorted(targets, (low_key + 1, high_key)).tolist()
        if np.any((starts[low:high] < low_key) | (starts[low:high] >= high_key)):
            return True
        if any(
            self._source.statements[line].kind == Kind.LABEL
            and self._source.statements[line].word in self._opaque_names
            for line in range(begin, function.last)
        ):
            return True
        if first and self._part.section[first - 1] == self._part.section[first]:
            gap = self._part.begin[first] - self._part.end[first - 1]
            previous = Decoder(64, self._part.code(first - 1)).decode()
            return bool(0 <= gap < 64) and previous.flow_control not in _ENDS and not _is_padding(previous)
        return False

    def _calls_twice(self, function: Function) -> bool:
        """Whether it may call a function that returns twice."""
        if self._twice is None:
            return True
        low, high = (bisect_left(self._twice, line) for line in (function.first, function.last))
        return high > low

    def _leaves(self, function: Function, first: int, instructions: list[Instruction]) -> bool:
        """Whether it jumps to what is not the beginning of a function, calls its own middle or may run past its end.

        A call that returns twice counts too: whoever goes back there finds the slots as they are at that moment.
        """
        for number, instruction in enumerate(instructions):
            flow = instruction.flow_control
            direct = instruction.op_count > 0 and instruction.op0_kind == OpKind.NEAR_BRANCH64
            if flow == FlowControl.XBEGIN_XABORT_XEND:
                return True
            if not direct:
                continue
            name = self._target(int(self._part.line[first + number]))
            label = self._labels.get(name)
            if flow == FlowControl.CALL:
                if not name or name[0].isdigit():
                    return True
                if label is not None and label > self._part.line[first] and label < function.last:
                    return True
                continue
            if label is None:
                if not name or name[0].isdigit() or ".cold" in name or name in self._opaque_names:
                    return True
            elif not function.first <= label < function.last and (name not in self._names or ".cold" in name):
                return True
        if self._calls_twice(function):
            return True
        last = instructions[-1]
        return last.flow_control not in _ENDS and not _is_padding(last)

    def mark(self, function: Function) -> None:
        """Fill in the marks of a function's instructions."""
        first, last = np.searchsorted(self._part.line, (function.first, function.last)).tolist()
        if last - first < 2:
            return
        head = self._source.statements[max(function.first - 8, 0) : int(self._part.line[first])]
        cold = any(statement.kind == Kind.LABEL and ".cold" in statement.word for statement in head)
        if cold or not self._understood(function, first, last) or self._entered(function, first, last):
            return
        instructions = [
            Decoder(64, self._part.code(k), ip=int(self._part.begin[k])).decode() for k in range(first, last)
        ]
        leaves = self._leaves(function, first, instructions)
        if not leaves:
            self.marks[first:last] = np.frombuffer(frame_marks(instructions, leaves), np.uint8)


def _is_padding(instruction: Instruction) -> bool:
    return instruction.mnemonic == _NOP


_NOP = Decoder(64, b"\x90").decode().mnemonic


def frames(source: Source, part: Listing, inner: np.ndarray) -> np.ndarray:
    """PRIVATE and CLOSED of each instruction of a listing, uint8 (C,).

    inner: (C,) bool, instructions that something else than a function's own jumps may lead to.
    """
    work = _Frames(source, part, inner)
    for function in functions(source):
        work.mark(function)
    return work.marks
