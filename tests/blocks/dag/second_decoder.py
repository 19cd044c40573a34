"""The effects of an instruction according to capstone, as resources of `dag/resources.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import capstone
from capstone import x86_const
from iced_x86 import EncodingKind, Instruction, OpCodeInfo, Register

from learned_schedulers.blocks.dag import resources
from tests.blocks.dag.named import bits

_SKIPPED = {"rip", "eip", "fs", "gs", "ds", "es", "cs", "ss"}
_RFLAGS = {"rflags", "eflags", "flags"}


def _decoder() -> capstone.Cs:
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    return decoder


_CAPSTONE = _decoder()


@dataclass(frozen=True)
class Claims:
    """Bit sets of resources, and the instruction's explicit memory operand, according to capstone."""

    reads: int
    writes: int
    undefined: int
    loads: bool  # any memory operand is read
    stores: bool
    size: int  # bytes of the first memory operand, 0 without one


class UnknownToCapstone(ValueError):
    """Capstone decodes no instruction, or one of another length, from the bytes."""


@cache
def _flag_masks(kind: str) -> list[tuple[int, int]]:
    """(bit of capstone's eflags, resource) of kind TEST, MODIFY, RESET, SET or UNDEFINED."""
    names = [(name, name) for name in resources.FLAG_NAMES] + [
        ("0F", "OF")
    ]  # capstone has RESET_0F in addition to RESET_OF
    return [
        (getattr(x86_const, f"X86_EFLAGS_{kind}_{capstone_name}"), bits(name))
        for capstone_name, name in names
        if hasattr(x86_const, f"X86_EFLAGS_{kind}_{capstone_name}")
    ]


def _flags(eflags: int, *kinds: str) -> int:
    return sum({resource for kind in kinds for bit, resource in _flag_masks(kind) if eflags & bit})


@cache
def _lanes(name: str) -> int:
    """Resources of capstone's register; `eflags` distinguishes the single flags."""
    if name in _SKIPPED or name in _RFLAGS:
        return 0
    if name.startswith("st(") or name in ("fpsw", "fpcw", "fptag"):
        return resources.X87
    name = name.upper()
    if name.endswith("B") and name[1:-1].isdigit():  # r8b, iced-x86's R8L
        name = f"{name[:-1]}L"
    return resources.LANES[getattr(Register, name)]


def claims(code: bytes, instruction: Instruction) -> Claims:
    """Capstone's claims about the instruction that iced-x86 decoded from `code`.

    Raises UnknownToCapstone if capstone does not know it.
    """
    decoded = next(_CAPSTONE.disasm(code, 0), None)
    if decoded is None or decoded.size != len(code):
        raise UnknownToCapstone(code.hex())
    read_names, written_names = ([decoded.reg_name(register) for register in kind] for kind in decoded.regs_access())
    reads, writes = 0, 0
    for name in read_names:
        reads |= _lanes(name)
    clears = OpCodeInfo(instruction.code).encoding != EncodingKind.LEGACY
    for name in written_names:
        lanes = _lanes(name)
        # Capstone does not report that every VEX instruction clears the upper part, also one that writes 32 bits.
        if clears and name.startswith(("xmm", "ymm")):
            lanes = _lanes(f"zmm{name[3:]}")
        writes |= lanes
    # For x87 instructions `eflags` contains other flags.
    eflags = 0 if decoded.group(x86_const.X86_GRP_FPU) else decoded.eflags
    memory = [operand for operand in decoded.operands if operand.type == x86_const.X86_OP_MEM]
    return Claims(
        reads=reads | _flags(eflags, "TEST"),
        writes=writes | _flags(eflags, "MODIFY", "RESET", "SET", "UNDEFINED"),
        undefined=_flags(eflags, "UNDEFINED"),
        loads=any(operand.access & capstone.CS_AC_READ for operand in memory),
        stores=any(operand.access & capstone.CS_AC_WRITE for operand in memory),
        size=memory[0].size if memory else 0,
    )
