"""Instructions of the classes that programs may have: every code of iced-x86, with operands of every kind.

Of each code: operands in registers and in memory; all forms of an address; all choices of which operands are the same
register; the registers that matter by name in place of each other one; `ah`; vector registers above 15; masks;
immediates that select. Combinations of several rare choices are left out, as are control transfers and privileged
instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from iced_x86 import (
    Code,
    Code_,
    Decoder,
    Encoder,
    EncodingKind,
    FlowControl,
    Instruction,
    Mnemonic,
    OpCodeInfo,
    OpCodeOperandKind,
    OpCodeOperandKind_,
    OpKind,
    OpKind_,
    Register,
    Register_,
    RegisterExt,
    RoundingControl,
)

from pipeline.blocks.latency.instruction_classes import fixed_registers, of_equal_size, shape, whole_register

_KIND_NAMES: dict[OpCodeOperandKind_, str] = {
    getattr(OpCodeOperandKind, name): name for name in vars(OpCodeOperandKind) if name.isupper()
}
_FIXED: dict[str, Register_] = {
    **{name: getattr(Register, name) for name in ("AL", "CL", "AX", "DX", "EAX", "RAX", "ES", "CS", "SS", "DS", "ST0")},
    **{"FS": Register.FS, "GS": Register.GS, "SEG_REG": Register.FS, "STI_OPCODE": Register.ST2},
}
_IMMEDIATES: dict[str, OpKind_] = {
    **{"IMM8": OpKind.IMMEDIATE8, "IMM8_CONST_1": OpKind.IMMEDIATE8, "IMM4_M2Z": OpKind.IMMEDIATE8},
    **{"IMM8SEX16": OpKind.IMMEDIATE8TO16, "IMM8SEX32": OpKind.IMMEDIATE8TO32, "IMM8SEX64": OpKind.IMMEDIATE8TO64},
    **{"IMM16": OpKind.IMMEDIATE16, "IMM32": OpKind.IMMEDIATE32, "IMM64": OpKind.IMMEDIATE64},
    "IMM32SEX64": OpKind.IMMEDIATE32TO64,
}
_VALUES = (0, 1, 2, 3, 4, 5, 6, 7, 0x1234)
_STRINGS: dict[str, OpKind_] = {
    **{"SEG_RSI": OpKind.MEMORY_SEG_RSI, "SEG_RDI": OpKind.MEMORY_SEG_RDI, "ES_RDI": OpKind.MEMORY_ESRDI},
}
# Whole registers in the order in which operands get them. The first general ones have a second byte.
_GENERAL = [
    *(Register.RCX, Register.RDX, Register.RBX, Register.RSI, Register.RDI, Register.R8, Register.R9, Register.R10),
]
_SECOND_BYTES: dict[Register_, Register_] = {
    **{Register.AL: Register.AH, Register.CL: Register.CH, Register.DL: Register.DH, Register.BL: Register.BH},
}
_VECTORS = [Register.ZMM1, Register.ZMM2, Register.ZMM3, Register.ZMM4, Register.ZMM5]
_MASKS = [Register.K1, Register.K2, Register.K3, Register.K4, Register.K5]
_MMX = [Register.MM1, Register.MM2, Register.MM3]
_SIZES: dict[str, tuple[list[Register_], Register_]] = {  # with a register that is as large
    **{"R8": (_GENERAL, Register.AL), "R16": (_GENERAL, Register.AX), "R32": (_GENERAL, Register.EAX)},
    **{"R64": (_GENERAL, Register.RAX), "MM": (_MMX, Register.MM0), "K": (_MASKS, Register.K0)},
    **{"XMM": (_VECTORS, Register.XMM0), "YMM": (_VECTORS, Register.YMM0), "ZMM": (_VECTORS, Register.ZMM0)},
}
_VECTOR_INDICES = {"X": "XMM", "Y": "YMM", "Z": "ZMM"}  # by the last letter of the operand's kind
_REGISTER_ALONE = "no address"
_ADDRESSES = ("base index", "base", "index", "rip", "constant")  # only of `lea`, the form of an address matters
# Vector registers that only EVEX can name, in place of others.
_UPPER: dict[Register_, Register_] = {
    register: getattr(Register, f"ZMM{k + 17}") for k, register in enumerate(_VECTORS)
}


def every_instruction() -> Iterator[bytes]:
    """Machine code of one instruction of each class, ordered by iced-x86's codes."""
    shapes = set()
    codes: list[Code_] = sorted({value for name, value in vars(Code).items() if name.isupper()})
    for code in codes:
        for template in _templates(code):
            for instruction in _variants(template):
                form, _ = shape(instruction)
                if form not in shapes:
                    shapes.add(form)
                    encoded = _encoded(instruction)
                    if encoded is not None:
                        yield encoded


def _encoded(instruction: Instruction) -> bytes | None:
    """Its machine code, None if it has none."""
    encoder = Encoder(64)
    try:
        encoder.encode(instruction, 0)
    except ValueError:
        return None
    encoded = encoder.take_buffer()
    return encoded if Decoder(64, encoded).decode().code == instruction.code else None


def _templates(code: Code_) -> Iterator[Instruction]:
    """Instructions of a code with different registers: in registers alone, and with each form of an address."""
    information, bare = OpCodeInfo(code), Instruction()
    bare.code = code
    exists = information.is_instruction and information.mode64 and information.encoding != EncodingKind.MVEX
    if not exists or bare.flow_control != FlowControl.NEXT or information.is_privileged:
        return
    names = [_KIND_NAMES[kind] for kind in information.op_kinds()]
    for address in (_REGISTER_ALONE, *(_ADDRESSES if bare.mnemonic == Mnemonic.LEA else _ADDRESSES[:1])):
        template = _template(bare, names, address, _GENERAL)
        if template is not None:
            fixed = fixed_registers(template)
            template = _template(bare, names, address, [register for register in _GENERAL if register not in fixed])
        if template is not None:
            yield template
            yield from _with_top(template)


def _with_top(template: Instruction) -> Iterator[Instruction]:
    """With the top of the x87 stack in place of another register of it."""
    for k in range(template.op_count):
        if template.op_register(k) == _FIXED["STI_OPCODE"]:
            changed = template.copy()
            changed.set_op_register(k, Register.ST0)
            yield changed


def _template(
    bare: Instruction, names: Sequence[str], address: str, general_registers: Sequence[Register_]
) -> Instruction | None:
    """The instruction with operands of these kinds; None if it has none with this form of an address."""
    template = bare.copy()
    spare = {size: iter(registers) for size, (registers, _) in _SIZES.items()}
    general, vectors = iter(general_registers), iter(_VECTORS)
    spare |= {size: general for size in ("R8", "R16", "R32", "R64")} | {s: vectors for s in ("XMM", "YMM", "ZMM")}
    has_address = False
    for k, name in enumerate(names):
        size, *rest = name.split("_")
        if name.startswith("MEM") or (rest[:2] == ["OR", "MEM"] and address != _REGISTER_ALONE):
            has_address = True
            template.set_op_kind(k, OpKind.MEMORY)
            if "base" in address:
                template.memory_base = next(general)
            if "index" in address or "VSIB" in name:
                size = _VECTOR_INDICES.get(name[-1], "R64") if "VSIB" in name else "R64"
                template.memory_index = of_equal_size(_SIZES[size][1], next(spare[size]))
                template.memory_index_scale = 1
            if address == "rip":
                template.memory_base = Register.RIP
            if name == "MEM_OFFS":
                template.memory_displ_size = 8
        elif name in _FIXED:
            template.set_op_kind(k, OpKind.REGISTER)
            template.set_op_register(k, _FIXED[name])
        elif size in _SIZES:
            template.set_op_kind(k, OpKind.REGISTER)
            template.set_op_register(k, of_equal_size(_SIZES[size][1], next(spare[size])))
        elif name in _IMMEDIATES:
            is_second = any(earlier in _IMMEDIATES for earlier in names[:k])
            template.set_op_kind(k, OpKind.IMMEDIATE8_2ND if is_second else _IMMEDIATES[name])
            template.set_immediate_i64(k, 1)
        elif name in _STRINGS:
            template.set_op_kind(k, _STRINGS[name])
        else:  # registers of AMX and MPX, groups of registers
            return None
    return template if has_address == (address != _REGISTER_ALONE) else None


def _variants(template: Instruction) -> Iterator[Instruction]:
    if OpCodeInfo(template.code).encoding == EncodingKind.EVEX:
        yield from _evex_variants(template)
        return
    for instruction in _with_equal_registers(template):
        for named in (instruction, *_with_fixed_registers(instruction)):
            for widened in (named, *_with_second_bytes(named)):
                yield from _with_immediates(widened)
                yield from _with_immediates(_locked(widened))
            if template.mnemonic == Mnemonic.LEA:
                yield from _with_scales(named)
    yield from _with_repetition(template)


def _evex_variants(template: Instruction) -> Iterator[Instruction]:
    for instruction in _with_equal_registers(template):
        if instruction.memory_index == instruction.memory_base != Register.NONE:
            continue
        renumbered = list(_with_upper_registers(instruction))
        for each in renumbered:
            yield from _with_masks(each, False)
        for each in (renumbered[0], renumbered[-1]):
            yield from _with_masks(each, True)


def _registers(instruction: Instruction) -> list[Register_]:
    """Its whole registers that classes rename, operand by operand."""
    operands = [instruction.op_register(k) for k in range(instruction.op_count)]
    wholes = [whole_register(register) for register in (*operands, instruction.memory_base, instruction.memory_index)]
    return [whole for whole in wholes if whole and whole not in fixed_registers(instruction)]


def _renamed(instruction: Instruction, names: dict[Register_, Register_]) -> Instruction:
    """The instruction with other registers. names: whole registers."""

    def name(register: Register_) -> Register_:
        whole = whole_register(register)
        return of_equal_size(register, names[whole]) if whole in names else register

    renamed = instruction.copy()
    for k in range(instruction.op_count):
        if instruction.op_kind(k) == OpKind.REGISTER:
            renamed.set_op_register(k, name(instruction.op_register(k)))
    renamed.memory_base, renamed.memory_index = name(instruction.memory_base), name(instruction.memory_index)
    return renamed


def _with_equal_registers(template: Instruction) -> Iterator[Instruction]:
    """All choices of registers that are equal."""
    wholes = _registers(template)
    choices = [[other for other in wholes[: k + 1] if _family(other) == _family(wholes[k])] for k in range(len(wholes))]
    for names in product(*choices):
        yield _renamed(template, dict(zip(wholes, names, strict=True)))


def _family(register: Register_) -> int:
    tests = (RegisterExt.is_gpr, RegisterExt.is_vector_register, RegisterExt.is_k, RegisterExt.is_mm)
    return [is_member(register) for is_member in tests].index(True)


def _with_fixed_registers(template: Instruction) -> Iterator[Instruction]:
    """With the registers that matter by name in place of one or two others."""
    fixed = [register for register in sorted(fixed_registers(template)) if register]
    wholes = _registers(template)
    for k, whole in enumerate(wholes):
        for other in fixed:
            if _family(other) == _family(whole) and len(fixed) < len(_GENERAL):
                changed = _renamed(template, {whole: other})
                yield changed
                for second in wholes[k + 1 :]:
                    yield from (_renamed(changed, {second: name}) for name in fixed if _family(name) == _family(second))


def _with_immediates(instruction: Instruction) -> Iterator[Instruction]:
    yield instruction
    for k in range(instruction.op_count):
        if instruction.op_kind(k) in _IMMEDIATES.values():
            for value in _VALUES:
                changed = instruction.copy()
                try:
                    changed.set_immediate_i64(k, value)
                except ValueError:
                    continue
                yield changed


def _locked(instruction: Instruction) -> Instruction:
    changed = instruction.copy()
    changed.has_lock_prefix = OpCodeInfo(instruction.code).can_use_lock_prefix
    return changed


def _with_repetition(template: Instruction) -> Iterator[Instruction]:
    if template.is_string_instruction:
        for prefix in ("has_rep_prefix", "has_repne_prefix"):
            changed = template.copy()
            setattr(changed, prefix, True)
            yield changed


def _with_second_bytes(instruction: Instruction) -> Iterator[Instruction]:
    places = [k for k in range(instruction.op_count) if instruction.op_register(k) in _SECOND_BYTES]
    for chosen in product((False, True), repeat=len(places)):
        changed = instruction.copy()
        for k, is_second in zip(places, chosen, strict=True):
            if is_second:
                changed.set_op_register(k, _SECOND_BYTES[instruction.op_register(k)])
        yield changed


def _with_scales(instruction: Instruction) -> Iterator[Instruction]:
    """With all scales of the index, with and without a displacement."""
    for scale, displacement in product((1, 2, 4, 8), (0, 16)):
        changed = instruction.copy()
        changed.memory_index_scale = scale if instruction.memory_index else 1
        changed.memory_displacement = displacement
        changed.memory_displ_size = 1 if displacement else 0
        yield changed


def _with_upper_registers(instruction: Instruction) -> Iterator[Instruction]:
    """With vector registers above 15 in place of some: first of none, last of all."""
    vectors = sorted({whole for whole in _registers(instruction) if RegisterExt.is_zmm(whole)})
    for chosen in product((False, True), repeat=len(vectors)):
        names = {whole: _UPPER[whole] for whole, is_upper in zip(vectors, chosen, strict=True) if is_upper}
        yield _renamed(instruction, names)


def _with_masks(instruction: Instruction, is_special: bool) -> Iterator[Instruction]:
    """With masks. is_special: with one element of memory in place of all, or with a rounding of its own, as well."""
    is_in_memory = any(instruction.op_kind(k) == OpKind.MEMORY for k in range(instruction.op_count))
    information = OpCodeInfo(instruction.code)
    for has_mask, zeroes in ((False, False), (True, False), (True, True)):
        changed = instruction.copy()
        changed.op_mask = Register.K6 if has_mask else Register.NONE
        changed.zeroing_masking = zeroes
        if is_special and is_in_memory:
            changed.is_broadcast = information.can_broadcast
        elif is_special:
            changed.suppress_all_exceptions = information.can_suppress_all_exceptions
            if information.can_use_rounding_control:
                changed.rounding_control = RoundingControl.ROUND_TO_NEAREST
        yield from _with_immediates(changed)
