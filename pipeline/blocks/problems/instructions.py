"""What a network may know of an instruction by itself: tokens of its operands, and values to compare with another's.

Tokens say in which operand they stand (`op1=reg:rax`), so that their sum loses nothing; numbers come exactly
(`disp:24`) and in powers of two (`disp~+5`), so that a rare one still says its size. Blocks arrive masked: no
rip-relative displacement and no absolute address is left in them (`corpus/leaks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from iced_x86 import Decoder, Instruction, MemorySizeExt, Mnemonic, OpKind, Register, Register_, RegisterExt

from pipeline import tables
from pipeline.blocks.problems.tokens import IMMEDIATES, code_name, register_name, signed

if TYPE_CHECKING:  # the console command starts without it
    import pandas as pd

NO_ADDRESS, RIP_ADDRESS = 0, 1  # in `address`; what follows are distinct registers of addresses
COMPARED = ("opcode", "address", "displacement", "access_bytes", "immediate", "first_register", "second_register")


@dataclass(frozen=True)
class Described:
    """One instruction: its tokens, and the values of COMPARED."""

    tokens: list[str]
    opcode: int
    address: int  # number of base, index, scale and segment; NO_ADDRESS, RIP_ADDRESS
    displacement: int  # bytes; 0 without an address of registers
    access_bytes: int
    immediate: int
    first_register: int  # of operands 0 and 1, whole registers; 0 for none
    second_register: int


_mnemonics = {
    value: name.lower() for name, value in vars(Mnemonic).items() if isinstance(value, int) and name.isupper()
}


def _size(value: int) -> str:
    """Sign and power of two."""
    return f"{'-' if value < 0 else '+'}{abs(value).bit_length()}"


@cache
def _whole(register: Register_) -> Register_:
    return RegisterExt.full_register(register)


def _address(instruction: Instruction) -> int:
    """A number for the registers that make up an address: equal for equal ones alone."""
    index, scale = instruction.memory_index, instruction.memory_index_scale
    parts = (instruction.memory_base, index, scale if index != Register.NONE else 0, instruction.segment_prefix)
    number = 0
    for part in parts:
        number = number << 8 | int(part)
    return RIP_ADDRESS + 1 + number


def describe(instruction: Instruction) -> Described:
    """Tokens and values of one decoded instruction of a masked block."""
    tokens = [f"code:{code_name(instruction.code)}", f"mnemonic:{_mnemonics[instruction.mnemonic]}"]
    address, displacement, access_bytes, immediate = NO_ADDRESS, 0, 0, 0
    registers = [0, 0]
    for k in range(instruction.op_count):
        kind = instruction.op_kind(k)
        if kind == OpKind.REGISTER:
            register = _whole(instruction.op_register(k))
            tokens += [f"op{k}=reg:{register_name(register)}", f"reg:{register_name(register)}"]
            if k < 2:
                registers[k] = int(register)
        elif kind in IMMEDIATES:
            immediate = signed(instruction.immediate(k))
            tokens += [f"op{k}=imm:{immediate}", f"op{k}=imm~{_size(immediate)}"]
        elif kind == OpKind.MEMORY:
            access_bytes = MemorySizeExt.size(instruction.memory_size)
            tokens.append(f"op{k}=mem:{access_bytes}")
            if instruction.is_ip_rel_memory_operand:
                address = RIP_ADDRESS
                tokens.append("base:rip")
                continue
            address, displacement = _address(instruction), signed(instruction.memory_displacement)
            base, index = register_name(instruction.memory_base), instruction.memory_index
            tokens += [f"base:{base}", f"reg:{base}"]
            if index != Register.NONE:
                name = register_name(index)
                tokens += [f"index:{name}*{instruction.memory_index_scale}", f"reg:{name}"]
            tokens += [f"disp:{displacement}", f"disp~{_size(displacement)}", f"base:{base}+{displacement}"]
    return Described(tokens, int(instruction.code), address, displacement, access_bytes, immediate, *registers)


def tabulate(encodings: list[bytes]) -> pd.DataFrame:
    """Table `encodings` of distinct masked instructions, in their order."""
    import pandas as pd

    found = [describe(Decoder(64, code).decode()) for code in encodings]
    columns = {name: [getattr(one, name) for one in found] for name in COMPARED}
    return pd.DataFrame({"code": encodings, "tokens": [one.tokens for one in found], **columns})


@dataclass(frozen=True)
class Encodings:
    """Table `encodings` as arrays: U distinct instructions and the T distinct tokens they have."""

    tokens: list[str]  # (T,), sorted
    bags: np.ndarray  # int32, tokens of instruction u: bags[bounds[u] : bounds[u + 1]]
    bounds: np.ndarray  # (U + 1,) int64
    compared: np.ndarray  # (U, 7) int64: the values of COMPARED

    def counts(self, instructions: np.ndarray) -> np.ndarray:
        """How often each token occurs in these instructions, (T,) int64. instructions: rows, any shape."""
        weight = np.bincount(instructions.ravel(), minlength=len(self.compared))
        per_token = np.repeat(weight, np.diff(self.bounds))
        return np.bincount(self.bags, per_token, minlength=len(self.tokens)).astype(np.int64)


def encoded(frame: pd.DataFrame) -> Encodings:
    """The arrays of table `encodings`."""
    return _arrays(list(frame.tokens), frame[list(COMPARED)].to_numpy(np.int64))


def of_described(described: list[Described]) -> Encodings:
    """The same of instructions that are in no table."""
    compared = np.array([[getattr(one, name) for name in COMPARED] for one in described], np.int64)
    return _arrays([one.tokens for one in described], compared.reshape(-1, len(COMPARED)))


def _arrays(tokens: list[list[str]], compared: np.ndarray) -> Encodings:
    words = list(chain.from_iterable(tokens))
    known = sorted(set(words))
    number = {token: row for row, token in enumerate(known)}
    bags = np.fromiter((number[word] for word in words), np.int32, len(words))
    bounds = np.r_[0, np.cumsum([len(own) for own in tokens])].astype(np.int64)
    return Encodings(known, bags, bounds, compared)


def load(path: Path) -> Encodings:
    """The arrays of table `encodings` in a file."""
    return encoded(tables.read("encodings", path))
