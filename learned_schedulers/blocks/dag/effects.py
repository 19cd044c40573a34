"""The resources and the memory that an instruction reads and writes: iced-x86's information, with `corrections`."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from iced_x86 import (
    Code,
    Decoder,
    Instruction,
    InstructionInfoFactory,
    MemorySize_,
    MemorySizeExt,
    OpAccess,
    OpKind,
    Register,
    Register_,
    RegisterExt,
    UsedMemory,
)

from learned_schedulers.blocks.dag import resources
from learned_schedulers.blocks.dag.corrections import corrections_of
from learned_schedulers.blocks.dag.draft import Access, Draft
from learned_schedulers.blocks.dag.latencies import nominal_latency

_READS = (OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_WRITES = (OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE)
_IS_READ, _IS_WRITE = ([access in kinds for access in range(8)] for kinds in (_READS, _WRITES))
# An instruction that may leave its destination unchanged also reads it (`cmov`, `bsf` of 0, `rep` with rcx = 0).
# iced-x86 reports this read for some instructions only.
_MAY_KEEP = [access == OpAccess.COND_WRITE for access in range(8)]
_SEGMENTS_WITH_BASE = (Register.FS, Register.GS)  # the base of the other segments is 0 in 64-bit code
_info_factory = InstructionInfoFactory()


class Effects(NamedTuple):
    """Bit sets of resources (`dag/resources.py`), memory operands and nominal latency of an instruction."""

    reads: int
    writes: int
    kills: int  # flags that it certainly overwrites; a conditional writer kills nothing
    undefined: int  # flags that are undefined after it (manual); they count as written and killed
    accesses: tuple[Access, ...]
    barrier: bool  # no instruction may move across it
    latency: int  # cycles


def _is_address(base: Register_, index: Register_) -> bool:
    """Whether an address uses full registers only, so that its value can be followed."""
    return all(register == Register.NONE or RegisterExt.is_gpr64(register) for register in (base, index))


@cache
def _size(memory_size: MemorySize_) -> int:
    return MemorySizeExt.size(memory_size)


def _access(used: UsedMemory, instruction: Instruction, explicit: bool) -> Access:
    """One of iced-x86's memory uses; `explicit`: it is the instruction's explicit memory operand."""
    base, index, segment = used.base, used.index, used.segment
    displacement = used.displacement_i64
    has_full_registers = _is_address(base, index)
    if explicit:
        # The rest is a constant of the instruction: `pop [rsp]` uses the value of rsp after the pop.
        displacement = _signed(displacement - instruction.memory_displacement)
        if instruction.is_ip_rel_memory_operand:
            base = Register.RIP
    return Access(
        base_register=RegisterExt.full_register(base),
        index_register=RegisterExt.full_register(index),
        segment=segment if segment in _SEGMENTS_WITH_BASE else Register.NONE,
        scale=used.scale,
        displacement=displacement,
        explicit=explicit,
        size=_size(used.memory_size) if has_full_registers else 0,
        reads=_IS_READ[used.access],
        writes=_IS_WRITE[used.access],
    )


def _signed(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def effects(instruction: Instruction) -> Effects:
    """Effects of a decoded instruction; they do not depend on its displacement and its address.

    Only one kind of immediate has an influence: the count of a shift or a rotation. Raises ValueError for an invalid
    instruction.
    """
    code = instruction.code
    if code == Code.INVALID:
        raise ValueError("not an instruction")
    used_resources = _info_factory.info(instruction)
    reads = writes = 0
    lanes = resources.LANES
    for used_register in used_resources.used_registers():
        access = used_register.access
        if _IS_READ[access] or _MAY_KEEP[access]:
            reads |= lanes[used_register.register]
        if _IS_WRITE[access]:
            writes |= lanes[used_register.register]
    accesses = []
    used_memory = used_resources.used_memory()
    if used_memory:
        # iced-x86 lists explicit operands before implied ones.
        explicit = _has_memory_operand(instruction)
        for used in used_memory:
            accesses.append(_access(used, instruction, explicit))
            explicit = False
    changed = resources.flags(instruction.rflags_modified)
    draft = Draft(
        reads=reads | resources.flags(instruction.rflags_read),
        writes=writes | changed,
        kills=changed,
        undefined=resources.flags(instruction.rflags_undefined),
        accesses=accesses,
        barrier=False,
    )
    for correction in corrections_of(code):
        correction.correct(draft, instruction)
    if instruction.has_lock_prefix:
        draft.forget_addresses()
    loads = any(access.reads for access in draft.accesses)
    return Effects(
        draft.reads,
        draft.writes,
        draft.kills,
        draft.undefined,
        tuple(draft.accesses),
        draft.barrier,
        nominal_latency(instruction.mnemonic, loads),
    )


def _has_memory_operand(instruction: Instruction) -> bool:
    return any(instruction.op_kind(i) == OpKind.MEMORY for i in range(instruction.op_count))


def explicit_displacement(instruction: Instruction) -> int:
    """Signed displacement of the instruction's explicit memory operand; its absolute target if it is rip-relative."""
    return _signed(instruction.memory_displacement)


def decode_block(code: bytes, address: int = 0) -> list[Instruction]:
    """The instructions of a block's bytes. Raises ValueError if these are not whole instructions."""
    instructions = list(Decoder(64, code, ip=address))
    for instruction in instructions:
        if instruction.code == Code.INVALID:
            start = instruction.ip - address
            raise ValueError(f"no valid instruction at byte {start} of block {code.hex()}")
    return instructions
