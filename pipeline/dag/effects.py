"""What an instruction reads and writes, from iced-x86's instruction information.

Resources are bits of an integer: general registers, vector registers, the x87/MMX stack as one,
status flags one by one, memory as one. Corrections made to iced-x86, each with its reason:

- Sub-registers count as their full register; as all write-after-write edges are kept, a partial
  write need not count as a read of the bits it preserves.
- The instruction pointer is no resource: it is the same for a block's instructions in any order.
- A shift or rotate by CL leaves the flags alone when the count is 0, so it also *reads* the flags it may write.
- x87 and MMX instructions share one resource: the stack top moves under all of them.
- Instructions that do more than registers, flags and memory say (fences, `cpuid`, `ldmxcsr`, system
  and privileged ones) are barriers: they read and write everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from iced_x86 import (
    Code,
    CpuidFeature,
    Decoder,
    Instruction,
    InstructionInfoFactory,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    Register_,
    RegisterExt,
)

from pipeline.dag.latencies import nominal_latency

_READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}

_FLAG_BITS = 16  # iced's RflagsBits, status flags of x87 included
FLAGS = (1 << _FLAG_BITS) - 1
MEMORY = 1 << _FLAG_BITS
_X87 = 1 << (_FLAG_BITS + 1)
_FIRST_REGISTER = _FLAG_BITS + 2
_EVERYTHING = (1 << (_FIRST_REGISTER + 256)) - 1

_SHIFTS = {
    Mnemonic.SHL, Mnemonic.SHR, Mnemonic.SAR, Mnemonic.SAL, Mnemonic.ROL, Mnemonic.ROR,
    Mnemonic.RCL, Mnemonic.RCR, Mnemonic.SHLD, Mnemonic.SHRD,
}  # fmt: skip
_BARRIERS = {
    Mnemonic.CPUID, Mnemonic.RDTSC, Mnemonic.RDTSCP, Mnemonic.XGETBV, Mnemonic.MFENCE, Mnemonic.LFENCE,
    Mnemonic.SFENCE, Mnemonic.PAUSE, Mnemonic.LDMXCSR, Mnemonic.STMXCSR, Mnemonic.VLDMXCSR, Mnemonic.VSTMXCSR,
    Mnemonic.FXSAVE, Mnemonic.FXRSTOR, Mnemonic.FXSAVE64, Mnemonic.FXRSTOR64, Mnemonic.EMMS,
    Mnemonic.VZEROALL, Mnemonic.VZEROUPPER, Mnemonic.XSAVE, Mnemonic.XRSTOR, Mnemonic.RDRAND, Mnemonic.RDSEED,
}  # fmt: skip
_X87_FEATURES = {
    CpuidFeature.FPU, CpuidFeature.FPU287, CpuidFeature.FPU387, CpuidFeature.MMX, CpuidFeature.D3NOW,
}  # fmt: skip


@dataclass(frozen=True)
class Effects:
    """Bit sets of the resources that an instruction reads and writes, and its nominal latency in cycles."""

    reads: int
    writes: int
    latency: int


def _register_bit(register: Register_) -> int:
    full = RegisterExt.full_register(register)
    if full in (Register.RIP, Register.EIP, Register.NONE):
        return 0
    if RegisterExt.is_st(full) or RegisterExt.is_mm(full):
        return _X87
    return 1 << (_FIRST_REGISTER + full)


_info = InstructionInfoFactory()


def effects(instruction: Instruction) -> Effects:
    """Effects of a decoded instruction. Raises ValueError for an invalid one."""
    if instruction.code == Code.INVALID:
        raise ValueError("not an instruction")
    latency = nominal_latency(instruction)
    if instruction.mnemonic in _BARRIERS or instruction.is_privileged or instruction.is_save_restore_instruction:
        return Effects(_EVERYTHING, _EVERYTHING, latency)
    info = _info.info(instruction)
    reads, writes = instruction.rflags_read, instruction.rflags_modified
    if instruction.mnemonic in _SHIFTS and instruction.op_kind(instruction.op_count - 1) == OpKind.REGISTER:
        reads |= writes
    for register in info.used_registers():
        bit = _register_bit(register.register)
        reads |= bit if register.access in _READS else 0
        writes |= bit if register.access in _WRITES else 0
    for memory in info.used_memory():
        reads |= MEMORY if memory.access in _READS else 0
        writes |= MEMORY if memory.access in _WRITES else 0
    if instruction.has_lock_prefix:
        reads, writes = reads | MEMORY, writes | MEMORY
    if (reads | writes) & _X87 or not _X87_FEATURES.isdisjoint(instruction.cpuid_features()):
        reads, writes = reads | _X87, writes | _X87
    return Effects(reads, writes, latency)


@cache
def _effects_of_encoding(code: bytes) -> Effects:
    return effects(Decoder(64, code).decode())


def block_effects(code: bytes) -> list[Effects]:
    """Effects of each instruction of a block's bytes; computed once per distinct encoding.

    Raises ValueError where the bytes do not decode to whole instructions.
    """
    found, start = [], 0
    decoder = Decoder(64, code)
    for instruction in decoder:
        if instruction.code == Code.INVALID:
            raise ValueError(f"no valid instruction at byte {start} of block {code.hex()}")
        end = start + instruction.len
        found.append(_effects_of_encoding(code[start:end]))
        start = end
    return found
