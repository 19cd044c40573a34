"""Memory operands, and the effects of an instruction while `effects` and `corrections` build them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Access(NamedTuple):
    """One memory operand: bytes [segment: base + index * scale + displacement, + size).

    Registers have their values from before the instruction, also for implied operands (a push stores at rsp - 8).
    They are iced-x86's: full general registers, NONE, or RIP, for which the displacement is the target.
    """

    base_register: int
    index_register: int
    segment: int  # FS or GS, else NONE
    scale: int
    displacement: int  # a constant; if `explicit`, the displacement in the instruction is added to it
    explicit: bool
    size: int  # bytes; 0: unknown, the operand may be anywhere
    reads: bool
    writes: bool


@dataclass(slots=True)
class Draft:
    """The effects of an instruction before the corrections; fields as in `effects.Effects`."""

    reads: int
    writes: int
    kills: int
    undefined: int
    accesses: list[Access]
    barrier: bool

    def read_write(self, resources: int) -> None:
        self.reads |= resources
        self.writes |= resources

    def forget_addresses(self) -> None:
        """Let the instruction's memory operands be anywhere."""
        self.accesses = [access._replace(size=0) for access in self.accesses]
