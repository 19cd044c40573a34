"""Machine code decoded once, into flat arrays: one entry per instruction, no object for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain
from operator import attrgetter

import iced_x86
import numpy as np
from iced_x86 import Decoder, FlowControl, Instruction, Mnemonic

from pipeline.corpus.elf import CodeSection

# Read by map() in C; a loop in Python would take four times as long.
_READ = attrgetter("ip", "len", "code", "near_branch_target", "is_ip_rel_memory_operand")
_FUNCTIONS_PER_CHUNK = 4096  # bounds the memory of the undigested arrays to some 20 MB


@dataclass(frozen=True)
class Instructions:
    """The instructions of a section's functions, ascending in address. All arrays have the same length."""

    address: np.ndarray  # int64
    length: np.ndarray  # int64, bytes
    code: np.ndarray  # uint16, iced_x86.Code
    target: np.ndarray  # int64, address a direct branch leads to, else 0
    rip_relative: np.ndarray  # bool
    opens_function: np.ndarray  # bool

    def plain(self) -> np.ndarray:
        """bool: neither a control transfer, nor padding, nor at or behind an invalid byte of the function.

        Behind one (data between the code, or an instruction newer than the decoder) the decoder may be
        out of step, and what it reads need not be what the processor would.
        """
        plain = np.take(_plain_codes(), self.code)
        invalid = self.code == iced_x86.Code.INVALID
        if invalid.any():
            behind = np.cumsum(invalid)
            function = np.cumsum(self.opens_function) - 1
            plain &= behind == (behind - invalid)[self.opens_function][function]
        return plain


@cache
def _plain_codes() -> np.ndarray:
    """bool, indexed by iced_x86.Code: may stand inside a block."""
    codes = [getattr(iced_x86.Code, name) for name in dir(iced_x86.Code) if name.isupper()]
    plain = np.zeros(max(codes) + 1, dtype=bool)
    # Calls, traps and returns end a block; `endbr64` marks a place that control may come to.
    padding = (Mnemonic.INVALID, Mnemonic.NOP, Mnemonic.ENDBR64)
    for code in codes:
        instruction = Instruction()
        instruction.code = code
        plain[code] = instruction.flow_control == FlowControl.NEXT and instruction.mnemonic not in padding
    return plain


def _chunk(section: CodeSection, functions: np.ndarray) -> Instructions:
    bounds = functions.tolist()
    offsets = [(begin - section.address, end - section.address) for begin, end in bounds]
    decoders = (Decoder(64, section.code[low:high], ip=low + section.address) for low, high in offsets)
    values = chain.from_iterable(map(_READ, chain.from_iterable(decoders)))
    table = np.fromiter(values, dtype=np.uint64).reshape(-1, 5)
    address = table[:, 0].astype(np.int64)
    return Instructions(
        address=address,
        length=table[:, 1].astype(np.int64),
        code=table[:, 2].astype(np.uint16),
        target=table[:, 3].astype(np.int64),
        rip_relative=table[:, 4].astype(bool),
        opens_function=np.isin(address, functions[:, 0]),
    )


def decode(section: CodeSection) -> Iterator[Instructions]:
    """The instructions of a section's functions, in portions of some thousand functions."""
    for first in range(0, max(len(section.functions), 1), _FUNCTIONS_PER_CHUNK):
        yield _chunk(section, section.functions[first : first + _FUNCTIONS_PER_CHUNK])


def joined(portions: list[Instructions]) -> Instructions:
    """Portions one after the other."""
    return Instructions(*(np.concatenate([getattr(p, f.name) for p in portions]) for f in fields(Instructions)))
