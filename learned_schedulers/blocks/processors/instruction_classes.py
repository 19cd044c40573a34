"""Classes of instructions: those whose costs in LLVM's processor models are equal but for the names of registers.

Two instructions are of one class if iced-x86 gives them the same code (an opcode with its operand sizes), if their
operands have the same kinds, and if the same ones of their operands are equal registers: `xor eax, eax` and
`xor ecx, ecx` are of one class, `xor eax, ecx` is of another one. Some registers keep their names, because the names
matter:

- registers that the code fixes (cl of `shl ecx, cl`) or uses besides its operands (`mul`, `cmpxchg`, `push`);
- the accumulator beside an immediate and in `xchg`: the assembler knows shorter encodings of these, which some models
  describe separately;
- rbp and r13 as the base of `lea`, which is slower with them on some processors;
- segment, control, debug and x87 registers, and the registers of instructions that use groups of registers.

`ah` remains the second byte of some register, and a vector register above 15 remains above 15. Displacements and
immediates do not matter, except where they select: the count of a shift, the predicate of a comparison into a mask, a
carry that is added to zero, an immediate that would fit into a byte, and a displacement of `lea`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from iced_x86 import (
    Code_,
    Encoder,
    EncodingKind,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    Mnemonic_,
    OpCodeInfo,
    OpCodeOperandKind,
    OpKind,
    Register,
    Register_,
    RegisterExt,
)

MOST_REGISTERS = 6  # that a class renames; no instruction has more
Shape = tuple[int, ...]  # equal for instructions of one class; valid for one version of iced-x86

# Registers by kind and number. Registers of kind 0 are not renamed.
_LOW_BYTE, _HIGH_BYTE, _WORD, _DOUBLE, _QUAD, _MASK, _MMX, _XMM, _YMM, _ZMM = range(1, 11)
_UPPER = 3  # xmm16 is of kind _XMM + _UPPER
_REGISTERS: list[Register_] = sorted({value for name, value in vars(Register).items() if name.isupper()})  # 0, 1, ...
_KIND = [0] * (max(_REGISTERS) + 1)
_WHOLE: list[Register_] = [Register.NONE] * len(_KIND)  # the widest register of which it is a part; NONE for kind 0
_NAMED: dict[tuple[int, Register_], Register_] = {}  # kind and whole register -> register
_KINDS = (
    (RegisterExt.is_gpr8, _LOW_BYTE),
    (RegisterExt.is_gpr16, _WORD),
    (RegisterExt.is_gpr32, _DOUBLE),
    (RegisterExt.is_gpr64, _QUAD),
    (RegisterExt.is_k, _MASK),
    (RegisterExt.is_mm, _MMX),
    (RegisterExt.is_xmm, _XMM),
    (RegisterExt.is_ymm, _YMM),
    (RegisterExt.is_zmm, _ZMM),
)


def _kind(register: Register_) -> int:
    if register in (Register.AH, Register.CH, Register.DH, Register.BH):
        return _HIGH_BYTE
    kind = next((kind for is_of_kind, kind in _KINDS if is_of_kind(register)), 0)
    return kind + _UPPER if kind >= _XMM and RegisterExt.number(register) > 15 else kind


for _register in _REGISTERS:
    if _kind(_register):
        _KIND[_register] = _kind(_register)
        _WHOLE[_register] = RegisterExt.full_register(_register)
        _NAMED[_KIND[_register], _WHOLE[_register]] = _register

# The x87 registers below the top are alike.
_NAME = [Register.ST1 if Register.ST1 < register <= Register.ST7 else register for register in _REGISTERS]
# Whole registers for the code of a class, by preference. rsp cannot be an index; rbp and r13 as a base need a
# displacement. The first ones have a second byte; so has rax, but many codes fix it.
_GENERAL = [_REGISTERS[Register.RAX + k] for k in (1, 2, 3, 0, 6, 7, 8, 9, 10, 11, 12, 14, 15)]
_POOLS = {
    **{kind: _GENERAL for kind in (_LOW_BYTE, _HIGH_BYTE, _WORD, _DOUBLE, _QUAD)},
    _MASK: _REGISTERS[Register.K1 : Register.K7 + 1],
    _MMX: _REGISTERS[Register.MM0 : Register.MM7 + 1],
    **{kind: _REGISTERS[Register.ZMM1 : Register.ZMM15 + 1] for kind in (_XMM, _YMM, _ZMM)},
    **{kind + _UPPER: _REGISTERS[Register.ZMM16 : Register.ZMM31 + 1] for kind in (_XMM, _YMM, _ZMM)},
}

# What is retained of an immediate.
_NOTHING, _COUNT, _LONG_COUNT, _PREDICATE, _ZERO, _FITS, _ZERO_OR_FITS = range(7)
_SHIFTS = {
    Mnemonic.SHL, Mnemonic.SHR, Mnemonic.SAR, Mnemonic.SAL, Mnemonic.ROL, Mnemonic.ROR, Mnemonic.RCL, Mnemonic.RCR,
    Mnemonic.SHLD, Mnemonic.SHRD,
}  # fmt: skip
_MASK_COMPARISONS = {
    value for name, value in vars(Mnemonic).items() if name in {f"VPCMP{u}{size}" for u in ("", "U") for size in "BWDQ"}
}
_LONG_IMMEDIATES = {OpKind.IMMEDIATE16, OpKind.IMMEDIATE32, OpKind.IMMEDIATE64, OpKind.IMMEDIATE32TO64}
_IMMEDIATES = _LONG_IMMEDIATES | {
    OpKind.IMMEDIATE8, OpKind.IMMEDIATE8_2ND, OpKind.IMMEDIATE8TO16, OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64,
}  # fmt: skip
_FIXED_OPERANDS = {
    OpCodeOperandKind.AL, OpCodeOperandKind.CL, OpCodeOperandKind.AX, OpCodeOperandKind.DX, OpCodeOperandKind.EAX,
    OpCodeOperandKind.RAX,
}  # fmt: skip
_GROUPS = {
    OpCodeOperandKind.KP1_REG, OpCodeOperandKind.XMMP3_VVVV, OpCodeOperandKind.ZMMP3_VVVV, OpCodeOperandKind.TMM_REG,
    OpCodeOperandKind.TMM_RM, OpCodeOperandKind.TMM_VVVV,
}  # fmt: skip
_LARGE, _SMALL = 0x1234, 2  # immediates of a class's code
_DISPLACEMENT = 16  # of `lea`
_RENAMED = 1 << 12  # greater than each number of a register
_ALL_BITS = (1 << 64) - 1

_info_factory = InstructionInfoFactory()


class _Rule(NamedTuple):
    """What matters of the instructions of one of iced-x86's codes."""

    n_operands: int
    fixed: frozenset[Register_]  # whole registers that keep their names
    immediate: int  # what is retained of it
    has_address: bool  # one of its operands may be in memory, at an address in registers
    is_lea: bool
    is_evex: bool


class InstructionClass(NamedTuple):
    """A class and the registers that one instruction has in place of those of the class."""

    code: bytes  # machine code of the class's instruction
    renamed: tuple[Register_, ...]  # whole registers of that instruction ...
    registers: tuple[Register_, ...]  # ... and those that the given instruction has in their places


_rules: dict[Code_, _Rule] = {}
_INDEX_KIND = [kind if kind > _MMX else 0 for kind in _KIND]  # of the index of a gather; 0 for an ordinary one


def whole_register(register: Register_) -> Register_:
    """The widest register of which it is a part; NONE if classes do not rename it."""
    return _WHOLE[register]


def of_equal_size(register: Register_, whole: Register_) -> Register_:
    """The part of another whole register that is as large as a given register; a second byte if this is one."""
    kind = _KIND[register]
    if kind > _ZMM:
        kind -= _UPPER
    return _NAMED[kind, whole] if (kind, whole) in _NAMED else _NAMED[kind + _UPPER, whole]


def fixed_registers(instruction: Instruction) -> frozenset[Register_]:
    """Whole registers that matter by their names in all instructions of its code."""
    return _rule_of(instruction).fixed


def shape(instruction: Instruction) -> tuple[Shape, tuple[Register_, ...]]:
    """What is equal for all instructions of a class, and the whole registers of this one in the order of the class.

    NONE stands for a part that the address does not have.
    """
    n_operands, fixed, immediate, has_address, is_lea, is_evex = _rules.get(instruction.code) or _rule_of(instruction)
    parts: list[int] = [instruction.code]
    registers: list[Register_] = []
    for k in range(n_operands):
        kind = instruction.op_kind(k)
        if kind == OpKind.REGISTER:
            register = instruction.op_register(k)
            whole = _WHOLE[register]
            if not whole or whole in fixed:
                parts.append(_NAME[register])
                continue
            if whole not in registers:
                registers.append(whole)
            parts.append(_RENAMED | _KIND[register] << 4 | registers.index(whole))
        elif kind == OpKind.MEMORY and has_address:
            for register in (instruction.memory_base, instruction.memory_index):
                whole = _WHOLE[register]
                if whole in fixed:
                    parts.append(whole)
                    continue
                place = registers.index(whole) if whole and whole in registers else len(registers)
                if place == len(registers):
                    registers.append(whole)
                parts.append(_RENAMED | _INDEX_KIND[register] << 4 | place)
            if is_lea:
                base, index = instruction.memory_base, instruction.memory_index
                parts += (_KIND[base] or base, _KIND[index], instruction.memory_index_scale)
                parts.append(instruction.memory_displacement != 0)
        else:
            parts.append(-kind)
            if immediate and kind in _IMMEDIATES:
                parts.append(_retained(instruction.immediate(k), immediate))
    prefixes = instruction.has_lock_prefix | instruction.has_rep_prefix << 1 | instruction.has_repne_prefix << 2
    if is_evex:
        parts.append(instruction.is_broadcast | instruction.zeroing_masking << 1 | instruction.rounding_control << 2)
        mask = instruction.op_mask
        if mask:
            if mask not in registers:
                registers.append(mask)
            parts.append(_RENAMED | registers.index(mask))
        prefixes |= instruction.suppress_all_exceptions << 3
    parts.append(prefixes)
    return tuple(parts), tuple(registers)


def class_of(instruction: Instruction) -> InstructionClass:
    """The class of a decoded, valid instruction.

    Raises ValueError if iced-x86 cannot encode the class's instruction.
    """
    _, registers = shape(instruction)
    rule = _rule_of(instruction)
    completed = _with_whole_address(instruction, rule)
    _, completed_registers = shape(completed)
    names = _new_names(completed, completed_registers, rule)
    code = _encoded(_with_names(completed, names, rule))
    return InstructionClass(
        code, tuple(names.get(register, Register.NONE) for register in completed_registers), registers
    )


def _encoded(instruction: Instruction) -> bytes:
    encoder = Encoder(64)
    encoder.encode(instruction, 0)
    return encoder.take_buffer()


def _retained(immediate: int, rule: int) -> int:
    """What is retained of an immediate, unsigned of 64 bits: the number that stands for it in a class's code."""
    if rule == _PREDICATE:
        return immediate if immediate in (0, 6) else _SMALL  # the assembler has shorter encodings for equal and greater
    if rule in (_COUNT, _LONG_COUNT):
        return 1 if immediate == 1 else _SMALL if immediate & (31 if rule == _COUNT else 63) else 0
    if rule != _FITS and immediate == 0:
        return 0
    return _SMALL if rule == _ZERO or (immediate + 128) & _ALL_BITS < 256 else _LARGE


def _rule_of(instruction: Instruction) -> _Rule:
    """The rule of an instruction's code."""
    if instruction.code not in _rules:
        _rules[instruction.code] = _new_rule(instruction)
    return _rules[instruction.code]


def _new_rule(instruction: Instruction) -> _Rule:
    mnemonic, information = instruction.mnemonic, OpCodeInfo(instruction.code)
    kinds = information.op_kinds()
    operands = [instruction.op_kind(k) for k in range(instruction.op_count)]
    has_immediate = any(kind in _IMMEDIATES for kind in operands)
    fixed = _implied(instruction)
    fixed |= {_WHOLE[instruction.op_register(k)] for k, kind in enumerate(kinds) if kind in _FIXED_OPERANDS}
    if any(kind in _GROUPS for kind in kinds):
        fixed |= set(_WHOLE)
    if mnemonic == Mnemonic.XCHG or (has_immediate and mnemonic not in (Mnemonic.MOV, *_SHIFTS)):
        fixed.add(Register.RAX)
    if mnemonic == Mnemonic.LEA:
        fixed |= {Register.RBP, Register.R13}
    return _Rule(
        n_operands=instruction.op_count,
        fixed=frozenset(fixed),
        immediate=_retention(mnemonic, kinds, any(kind in _LONG_IMMEDIATES for kind in operands)),
        has_address=OpCodeOperandKind.MEM_OFFS not in kinds,
        is_lea=mnemonic == Mnemonic.LEA,
        is_evex=information.encoding == EncodingKind.EVEX,
    )


def _retention(mnemonic: Mnemonic_, kinds: Sequence[int], is_long: bool) -> int:
    """What is retained of the immediate of a code with operands of these OpCodeOperandKinds."""
    if mnemonic in _SHIFTS:
        return _LONG_COUNT if OpCodeOperandKind.R64_OR_MEM in kinds else _COUNT
    if mnemonic in _MASK_COMPARISONS:
        return _PREDICATE
    if mnemonic in (Mnemonic.ADC, Mnemonic.SBB):
        return _ZERO_OR_FITS if is_long else _ZERO
    return _FITS if is_long and mnemonic not in (Mnemonic.MOV, Mnemonic.TEST) else _NOTHING


def _implied(instruction: Instruction) -> set[Register_]:
    """Whole registers that all instructions of its code use besides their operands."""
    renamed = instruction.copy()
    spare = {
        kind: [register for register in reversed(pool) if _KIND[register] != _QUAD or register >= Register.R8]
        for kind, pool in _POOLS.items()
    }
    operands = set()

    def spare_register(register: Register_) -> Register_:
        kind = _KIND[register]
        if not kind:
            return register
        whole = next(whole for whole in spare[kind] if whole not in operands)
        operands.add(whole)
        return _NAMED[_LOW_BYTE if kind == _HIGH_BYTE else kind, whole]

    for k in range(instruction.op_count):
        if instruction.op_kind(k) == OpKind.REGISTER:
            renamed.set_op_register(k, spare_register(instruction.op_register(k)))
    renamed.memory_base = spare_register(instruction.memory_base)
    renamed.memory_index = spare_register(instruction.memory_index)
    renamed.op_mask = spare_register(instruction.op_mask)
    used = {_WHOLE[used.register] for used in _info_factory.info(renamed).used_registers()}
    return used - operands - {Register.NONE}


def _with_whole_address(instruction: Instruction, rule: _Rule) -> Instruction:
    """The instruction with a base and an index of 64 bits, which no other operand is, where the address has none."""
    if not rule.has_address or rule.is_lea:
        return instruction
    completed = instruction.copy()
    base, index = instruction.memory_base, instruction.memory_index
    used = {_WHOLE[instruction.op_register(k)] for k in range(rule.n_operands)} | {_WHOLE[base], _WHOLE[index]}
    spare = iter([register for register in _GENERAL if register not in used and register not in rule.fixed])
    completed.memory_base = _WHOLE[base] or next(spare)
    if _KIND[index] <= _QUAD:
        completed.memory_index = _WHOLE[index] or next(spare)
    return completed


def _new_names(instruction: Instruction, registers: Sequence[Register_], rule: _Rule) -> dict[Register_, Register_]:
    """The register of the class in place of each of these whole registers."""
    operands = [instruction.op_register(k) for k in range(rule.n_operands)]
    bytes_first = {_WHOLE[register] for register in operands if _KIND[register] in (_LOW_BYTE, _HIGH_BYTE)}
    names: dict[Register_, Register_] = {}
    for register in sorted(filter(None, registers), key=lambda register: register not in bytes_first):
        pool = _POOLS[_KIND[register]]
        names[register] = next(name for name in pool if name not in rule.fixed and name not in names.values())
    return names


def _with_names(instruction: Instruction, names: dict[Register_, Register_], rule: _Rule) -> Instruction:
    """The instruction with other registers, and with constants that stand for their like."""

    def name(register: Register_) -> Register_:
        whole = _WHOLE[register]
        return of_equal_size(register, names[whole]) if whole in names else _NAME[register]

    renamed = instruction.copy()
    for k in range(rule.n_operands):
        kind = instruction.op_kind(k)
        if kind == OpKind.REGISTER:
            renamed.set_op_register(k, name(instruction.op_register(k)))
        elif kind in _IMMEDIATES:
            retained = _retained(instruction.immediate(k), rule.immediate) if rule.immediate else _SMALL
            renamed.set_immediate_i64(k, retained)
        elif kind == OpKind.MEMORY and rule.has_address:
            renamed.memory_base, renamed.memory_index = name(instruction.memory_base), name(instruction.memory_index)
            displacement = _DISPLACEMENT if rule.is_lea and instruction.memory_displacement else 0
            renamed.memory_displacement = displacement
            renamed.memory_displ_size = 1 if displacement else 0
            renamed.segment_prefix = Register.NONE
            if not rule.is_lea:
                renamed.memory_index_scale = 1
    renamed.op_mask = name(instruction.op_mask)
    return renamed
