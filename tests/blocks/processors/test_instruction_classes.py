"""Which instructions are of one class, and that a class's instruction is of its own class."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Decoder, Instruction, Mnemonic, OpKind, Register, RegisterExt

from learned_schedulers.blocks.processors.class_table import CLASSES, SHIPPED
from learned_schedulers.blocks.processors.instruction_classes import (
    MOST_REGISTERS,
    class_of,
    fixed_registers,
    of_equal_size,
    shape,
    whole_register,
)


@cache
def shipped() -> list[bytes]:
    """Machine code of one instruction of each class that is shipped."""
    with np.load(SHIPPED / f"{CLASSES}.npz") as stored:
        return [code[:-1] for code in stored["code"].tolist()]  # each ends with a byte that keeps its zeros


ENCODINGS = st.integers(0, 80_000).map(lambda k: shipped()[k])
GENERAL = [
    Register.RAX,
    Register.RCX,
    Register.RBX,
    Register.RSP,
    Register.RBP,
    Register.RSI,
    Register.R8,
    Register.R13,
]


def decoded(code: bytes | str) -> Instruction:
    return Decoder(64, bytes.fromhex(code) if isinstance(code, str) else code).decode()


ALIKE = {
    "registers": ["4801c3", "4d01ee", "4801c4"],  # add rbx, rax; add r14, r13; add rsp, rax
    "the same register twice": ["31c0", "4531c9"],  # xor eax, eax; xor r9d, r9d
    "addresses": ["8b03", "8b45f8", "8b0425 00100000", "8b05 00000000", "8b5c91fc", "418b1c24", "658b0c25 28000000"],
    "immediates": ["83c301", "4183c77f"],  # add ebx, 1; add r15d, 127
    "long immediates": ["81c300100000", "81c600ffffff"],
    "counts": ["c1e303", "c1e61f"],  # shl ebx, 3; shl esi, 31
    "second bytes": ["88e1", "88f3"],  # mov cl, ah; mov bl, dh
    "vectors": ["c5f458d0", "c4c16458c7"],  # vaddps ymm2, ymm1, ymm0; ymm0, ymm3, ymm15
    "x87": ["d8c3", "d8c7"],  # fadd st, st(3); st(7)
}
DIFFERENT = {
    "another operation": ["4801c3", "4829c3"],
    "another size": ["4801c3", "01c3"],
    "the same register twice": ["31c0", "31c8"],
    "an implied register": ["48f7e1", "48f7e0", "48f7e2"],  # mul rcx; rax; rdx
    "a fixed operand": ["d3e3", "d3e1"],  # shl ebx, cl; shl ecx, cl
    "base is the target": ["8b03", "8b00"],  # mov eax, [rbx]; mov eax, [rax]
    "base is the index": ["8b0c03", "8b0c1b"],  # mov ecx, [rbx+rax]; [rbx+rbx]
    "accumulator": ["83c301", "83c001"],  # add ebx, 1; add eax, 1
    "zero and carry": ["83d300", "83d301"],  # adc ebx, 0; adc ebx, 1
    "length of an immediate": ["81c300100000", "81c301000000"],
    "count": ["c1e300", "c1e301", "c1e302"],
    "slow lea": ["488d0c03", "488d4c0308", "488d4c0508", "488d4b08", "488d0d00000000", "488d0c0503000000"],
    "second byte": ["88c1", "88e1"],
    "upper register": ["62f17c4858c8", "62b17c4858c8"],  # vaddps zmm1, zmm0, zmm0; zmm1, zmm0, zmm16
    "mask": ["62f17c4858ca", "62f17c4958ca", "62f17cc958ca"],
    "top of the stack": ["d8c0", "d8c3"],
    "lock": ["f0480103", "480103"],
}


@pytest.mark.parametrize("codes", ALIKE.values(), ids=ALIKE)
def test_alike(codes: list[str]) -> None:
    assert len({class_of(decoded(code)).code for code in codes}) == 1
    assert len({shape(decoded(code))[0] for code in codes}) == 1


@pytest.mark.parametrize("codes", DIFFERENT.values(), ids=DIFFERENT)
def test_different(codes: list[str]) -> None:
    assert len({class_of(decoded(code)).code for code in codes}) == len(codes)
    assert len({shape(decoded(code))[0] for code in codes}) == len(codes)


@given(ENCODINGS)
def test_a_class_contains_its_instruction(code: bytes) -> None:
    described = class_of(decoded(code))
    again = class_of(decoded(described.code))
    assert again.code == described.code and again.registers == again.renamed == described.renamed
    assert shape(decoded(code)) == (shape(decoded(described.code))[0], described.registers)
    assert len(described.registers) == len(described.renamed) <= MOST_REGISTERS
    assert len(set(filter(None, described.renamed))) == len([*filter(None, described.renamed)])


@given(ENCODINGS, st.permutations(GENERAL))
def test_renaming_keeps_the_class(code: bytes, spare: list[int]) -> None:
    """Each general register that is not fixed gets another name; different ones stay different."""
    instruction = decoded(code)
    fixed = fixed_registers(instruction)
    names = iter([register for register in spare if register not in fixed])
    new_names: dict[int, int] = {}

    def name(register: int) -> int:
        whole = whole_register(register)
        if not RegisterExt.is_gpr(register) or not whole or whole in fixed:
            return register
        if whole not in new_names:
            new_names[whole] = next(names)
        return of_equal_size(register, new_names[whole])

    if any(register in range(Register.AH, Register.BH + 1) for register in map(instruction.op_register, range(2))):
        return  # only four registers have a second byte
    renamed = instruction.copy()
    for k in range(instruction.op_count):
        if instruction.op_kind(k) == OpKind.REGISTER:
            renamed.set_op_register(k, name(instruction.op_register(k)))
    renamed.memory_base, renamed.memory_index = name(instruction.memory_base), name(instruction.memory_index)
    assert shape(renamed)[0] == shape(instruction)[0]
    assert class_of(renamed).code == class_of(instruction).code


def test_shipped_classes_are_distinct_and_many() -> None:
    instructions = [decoded(code) for code in shipped()]
    assert len({shape(instruction)[0] for instruction in instructions}) == len(instructions) > 80_000
    mnemonics = (Mnemonic.SHL, Mnemonic.MULX, Mnemonic.LEA, Mnemonic.MOVZX, Mnemonic.VADDPS)
    texts = {str(instruction) for instruction in instructions if instruction.mnemonic in mnemonics}
    assert {"shl edx,cl", "mulx rdx,rcx,rbx", "lea rcx,[rbp+rdx+10h]", "movzx ecx,ch"} <= texts
    assert {"vaddps zmm1{k1}{z},zmm2,zmm16", "vaddps xmm1,xmm1,[rcx+rdx]"} <= texts
