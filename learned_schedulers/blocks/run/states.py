"""Start states of a processor: registers, flags, vectors, x87, and a rule for the content of memory."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from learned_schedulers.blocks.run import layout

U64 = (1 << 64) - 1
FS_BASE, GS_BASE = 0x70_0000_0000, 0x78_0000_0000

# Content of memory: (and, or) masks of random bits. The second pair applies to words whose random bit 62 is set.
POINTERS = (0x000000FF_FFFFFFC0, 0x00000010_00000000)  # 2**36 to 2**40, whole cache lines
FLOATS = (0x83FFFFFF_83FFFFFF, 0x3C000000_3C000000)  # normal as floats (2**-7 to 2) and as doubles (2**-63 to 2)
LARGE_FLOATS = (0x80FFFFFF_80FFFFFF, 0x40000000_40000000)  # 2 to 8, 2 to 2**16
DOUBLES = (0x803FFFFF_FFFFFFFF, 0x3FC00000_00000000)  # 2**-3 to 2: so close to each other that sums are rounded
SMALL = (0x0000007F_0000007F, 0)
RANDOM = (U64, 0)
Masks = tuple[int, int, int, int]


@dataclass(frozen=True)
class State:
    """The start state of a run. Memory is unlimited: every page exists, filled by `content`."""

    registers: tuple[int, ...]  # 16, by number: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 .. r15
    flags: int
    seed: int
    masks: Masks
    vectors: bytes  # zmm0 .. zmm31
    opmasks: bytes  # k0 .. k7
    x87: bytes  # st0 .. st7, 16 bytes each, in the layout of FXSAVE
    x87_tags: int = 0xF0  # physical registers 4 .. 7 are in use ...
    x87_status: int = 4 << 11  # ... and 4 is the top
    x87_control: int = 0x37F
    mxcsr: int = 0x1F80
    aliased: bool = False

    def encode(self) -> bytes:
        """The state in the worker's format."""
        head = struct.pack(
            layout.STATE_HEAD, *self.registers, self.flags, self.seed, *self.masks, FS_BASE, GS_BASE,
            self.x87_control, self.x87_status, self.x87_tags, self.mxcsr,
        )  # fmt: skip
        return head + self.x87 + self.vectors + self.opmasks


def content(addresses: np.ndarray, seed: int, masks: Masks) -> np.ndarray:
    """Content of memory at 8-byte aligned addresses before a run: SplitMix64's finaliser, masked.

    addresses: (n,) uint64. Returns (n,) uint64. The trampoline's `fill` is the same function in machine code.
    """
    x = addresses * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    second = (x >> np.uint64(62) & np.uint64(1)).astype(bool)
    first_and, first_or, second_and, second_or = (np.uint64(mask) for mask in masks)
    return np.where(second, x & second_and | second_or, x & first_and | first_or)
