"""Memory operands, and the effects of an instruction while they are being put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Access(NamedTuple):
    """One memory operand: bytes [segment: base + index * scale + displacement, + size).

    Registers hold the values from before the instruction, for what it implies as well (a push stores at
    rsp - 8). They are iced-x86's: full general registers, NONE, or RIP, where the displacement is the target.
    """

    base_register: int
    index_register: int
    segment: int  # FS or GS, else NONE
    scale: int
    displacement: int  # a constant of the instruction; where `explicit`, the displacement it holds is added
    explicit: bool
    size: int  # bytes; 0: unknown, may touch anything
    reads: bool
    writes: bool


@dataclass(slots=True)
class Draft:
    """See `effects.Effects`."""

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
        """Its memory operands may touch anything."""
        self.accesses = [access._replace(size=0) for access in self.accesses]
