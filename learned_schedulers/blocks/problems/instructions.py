"""What a network may know of a single instruction: tokens of its operands, and values to compare two instructions.

Tokens name the operand in which they occur (`op1=reg:rax`), so that their sum loses no information. Each number has an
exact token (`disp:24`) and one for its power of two (`disp~+5`), so that a rare number still has a size. Blocks are
masked: they have neither rip-relative displacements nor absolute addresses (`blocks/read/leaks.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from iced_x86 import Decoder, Instruction, MemorySizeExt, Mnemonic, OpKind, Register, Register_, RegisterExt

from learned_schedulers.blocks.problems.tokens import IMMEDIATES, code_name, register_name, signed

if TYPE_CHECKING:  # the console command starts without it
    import pandas as pd

NO_ADDRESS, RIP_ADDRESS = 0, 1  # values of `address`; greater ones stand for distinct registers of an address
COMPARED = ("opcode", "address", "displacement", "access_bytes", "immediate", "first_register", "second_register")
OPCODE, ADDRESS, DISPLACEMENT, ACCESS_BYTES, IMMEDIATE, FIRST_REGISTER, SECOND_REGISTER = range(len(COMPARED))


@dataclass(frozen=True)
class Described:
    """One instruction: its tokens, and the values of COMPARED."""

    tokens: list[str]
    opcode: int
    address: int  # NO_ADDRESS, RIP_ADDRESS, or a number for base, index, scale and segment
    displacement: int  # bytes; 0 if the address has no registers
    access_bytes: int
    immediate: int
    first_register: int  # of operand 0, the whole register; 0 for none
    second_register: int  # of operand 1


_mnemonics = {
    value: name.lower() for name, value in vars(Mnemonic).items() if isinstance(value, int) and name.isupper()
}


def _magnitude(value: int) -> str:
    """Sign and power of two of a number."""
    return f"{'-' if value < 0 else '+'}{abs(value).bit_length()}"


@cache
def _whole_register(register: Register_) -> Register_:
    return RegisterExt.full_register(register)


def _address(instruction: Instruction) -> int:
    """A number for the registers of an address: equal for addresses of equal registers alone."""
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
            register = _whole_register(instruction.op_register(k))
            tokens += [f"op{k}=reg:{register_name(register)}", f"reg:{register_name(register)}"]
            if k < 2:
                registers[k] = int(register)
        elif kind in IMMEDIATES:
            immediate = signed(instruction.immediate(k))
            tokens += [f"op{k}=imm:{immediate}", f"op{k}=imm~{_magnitude(immediate)}"]
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
            tokens += [f"disp:{displacement}", f"disp~{_magnitude(displacement)}", f"base:{base}+{displacement}"]
    return Described(
        tokens=tokens,
        opcode=int(instruction.code),
        address=address,
        displacement=displacement,
        access_bytes=access_bytes,
        immediate=immediate,
        first_register=registers[0],
        second_register=registers[1],
    )


def tabulate(encodings: list[bytes]) -> pd.DataFrame:
    """Table `encodings` of distinct masked instructions: one row each, in the given order."""
    import pandas as pd

    described = [describe(Decoder(64, code).decode()) for code in encodings]
    columns = {name: [getattr(instruction, name) for instruction in described] for name in COMPARED}
    return pd.DataFrame({"code": encodings, "tokens": [instruction.tokens for instruction in described], **columns})


@dataclass(frozen=True)
class Encodings:
    """Table `encodings` as arrays: U distinct instructions and their T distinct tokens."""

    tokens: list[str]  # (T,), sorted
    bags: np.ndarray  # int32, tokens of instruction u: bags[bounds[u] : bounds[u + 1]]
    bounds: np.ndarray  # (U + 1,) int64
    compared: np.ndarray  # (U, 7) int64, columns COMPARED

    def counts(self, instructions: np.ndarray) -> np.ndarray:
        """How often each token occurs in these instructions, (T,) int64. instructions: rows, of any shape."""
        weight = np.bincount(instructions.ravel(), minlength=len(self.compared))
        per_token = np.repeat(weight, np.diff(self.bounds))
        return np.bincount(self.bags, per_token, minlength=len(self.tokens)).astype(np.int64)


def encoded(frame: pd.DataFrame) -> Encodings:
    """The arrays of table `encodings`."""
    return _arrays(list(frame.tokens), np.ascontiguousarray(frame[list(COMPARED)], np.int64))


def of_described(described: list[Described]) -> Encodings:
    """As `encoded`, of instructions that are in no table."""
    compared = np.array([[getattr(instruction, name) for name in COMPARED] for instruction in described], np.int64)
    return _arrays([instruction.tokens for instruction in described], compared.reshape(-1, len(COMPARED)))


def _arrays(tokens: list[list[str]], compared: np.ndarray) -> Encodings:
    words = list(chain.from_iterable(tokens))
    vocabulary = sorted(set(words))
    number = {token: row for row, token in enumerate(vocabulary)}
    bags = np.fromiter((number[word] for word in words), np.int32, len(words))
    bounds = np.r_[0, np.cumsum([len(bag) for bag in tokens])].astype(np.int64)
    return Encodings(vocabulary, bags, bounds, compared)
