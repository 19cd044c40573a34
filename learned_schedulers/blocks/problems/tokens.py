"""Instruction -> tokens: the mnemonic, then each operand's registers, constants and memory parts.

The paper does not say how it tokenises. We use one token for the mnemonic with the operand sizes, one for each
register, one for each part of a memory operand, and one for a constant. Rip-relative displacements are masked and
become one token, so no token depends on the address of an instruction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

from iced_x86 import Code_, Decoder, Instruction, OpKind, Register, Register_

PADDING, UNKNOWN = "<pad>", "<unk>"
IMMEDIATES = {
    OpKind.IMMEDIATE8, OpKind.IMMEDIATE8_2ND, OpKind.IMMEDIATE16, OpKind.IMMEDIATE32, OpKind.IMMEDIATE64,
    OpKind.IMMEDIATE8TO16, OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64, OpKind.IMMEDIATE32TO64,
}  # fmt: skip
_names = {value: name.lower() for name, value in vars(Register).items() if isinstance(value, int) and name.isupper()}
_codes: dict[int, str] = {}


def code_name(code: Code_) -> str:
    """Name of an iced-x86 code, lower case: the mnemonic with the forms of its operands."""
    if not _codes:
        from iced_x86 import Code

        _codes.update({value: name.lower() for name, value in vars(Code).items() if isinstance(value, int)})
    return _codes[code]


def register_name(register: Register_) -> str:
    """Name of an iced-x86 register, lower case; `none` for none."""
    return _names[register]


def signed(value: int) -> int:
    """The signed number with this 64-bit pattern."""
    return value - (1 << 64) if value >> 63 else value


def instruction_tokens(instruction: Instruction) -> list[str]:
    """Tokens of one decoded instruction; the first is the mnemonic with its operand forms."""
    tokens = [code_name(instruction.code)]
    has_memory = False
    for i in range(instruction.op_count):
        kind = instruction.op_kind(i)
        if kind == OpKind.REGISTER:
            tokens.append(_names[instruction.op_register(i)])
        elif kind in IMMEDIATES:
            tokens.append(f"imm:{signed(instruction.immediate(i))}")
        elif kind == OpKind.MEMORY and not has_memory:
            has_memory = True
            if instruction.is_ip_rel_memory_operand:
                tokens.append("mem:rip")
                continue
            tokens.append(f"base:{_names[instruction.memory_base]}")
            if instruction.memory_index != Register.NONE:
                tokens.append(f"index:{_names[instruction.memory_index]}*{instruction.memory_index_scale}")
            tokens.append(f"disp:{signed(instruction.memory_displacement)}")
    return tokens


@cache
def _tokens_of_encoding(code: bytes) -> tuple[str, ...]:
    return tuple(instruction_tokens(Decoder(64, code).decode()))


def block_tokens(masked_code: bytes) -> list[tuple[str, ...]]:
    """Tokens of each instruction of a block's masked bytes."""
    tokens, start = [], 0
    for instruction in Decoder(64, masked_code):
        end = start + instruction.len
        tokens.append(_tokens_of_encoding(masked_code[start:end]))
        start = end
    return tokens


def _kind(token: str) -> str:
    return token.split(":")[0] + ":<other>" if ":" in token else UNKNOWN


def vocabulary(tokens: Iterable[str], min_count: int) -> dict[str, tuple[int, int]]:
    """Token -> (id, count) in the training blocks: padding, a catch-all for each kind, then by decreasing count."""
    counts = Counter(tokens)
    special = [PADDING, UNKNOWN, *sorted({_kind(token) for token in counts} - {UNKNOWN})]
    frequent = sorted((t for t, count in counts.items() if count >= min_count), key=lambda t: (-counts[t], t))
    return {token: (i, counts.get(token, 0)) for i, token in enumerate([*special, *frequent])}


def token_id(token: str, ids: dict[str, int]) -> int:
    """Id of a token; an unknown token has the id of the catch-all of its kind."""
    number = ids.get(token)
    return number if number is not None else ids.get(_kind(token), ids[UNKNOWN])
