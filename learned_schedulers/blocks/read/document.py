"""What every format gives: the blocks of a file, the parts left alone, and the file with its blocks in new orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from learned_schedulers.blocks.read.terminators import Terminator


class CodeBlock(NamedTuple):
    """A basic block of a user's file, without the control transfer at its end."""

    place: str  # for people, unique in its file: "lines 12-19", "line 7"
    code: bytes  # whole x86-64 instructions; bytes that the linker fills in are zero
    marks: bytes  # one byte for each instruction: dag/memory_order.Mark
    end: Terminator = Terminator()


class Fault(NamedTuple):
    """A part of a file that is left as it is, and why."""

    place: str
    reason: str
    remedy: str


@runtime_checkable
class Blocks(Protocol):
    """The blocks of a file that has been read. Reading raises Unreadable for a file of another form."""

    @property
    def blocks(self) -> Sequence[CodeBlock]:
        """Blocks of at least two instructions."""
        ...

    @property
    def faults(self) -> Sequence[Fault]:
        """Parts that are left as they are; `rewritten` may add some."""
        ...


@runtime_checkable
class Document(Blocks, Protocol):
    """A file that can be written again."""

    def rewritten(self, orders: Mapping[int, Sequence[int]]) -> bytes:
        """The whole file with new orders: index of a block -> index of the instruction in each slot.

        Bytes outside of these blocks, and what belongs to them, stay as they are. Without orders, the file as it was.
        """
        ...
