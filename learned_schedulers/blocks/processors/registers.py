"""Which registers an instruction reads and writes according to llvm-mca; bit sets of `dag/resources.py`.

They differ from those of the dependency DAG (`dag/effects.py`), which describes real processors. In LLVM's tables:

- The status flags are one register: an instruction that writes one of them writes all of them.
- No idiom breaks a dependency (on atom; later models have some idioms): `xor eax, eax` waits for eax.
- An instruction that may leave its destination unchanged (`bsf`, flags of a shift by cl) does not read it.
- x87 instructions read the control word and write the status word; no instruction waits for their stack.
- A `rep` prefix neither reads nor writes rcx.
- `cdq` writes eax as well as edx, `cbw` all of ax.

If one operand is in memory, an operand in a register is read late: when the load has finished (`ReadAfterLd`).
"""

from __future__ import annotations

from typing import NamedTuple

from iced_x86 import (
    Code,
    Instruction,
    InstructionInfoFactory,
    OpAccess,
    OpKind,
    Register,
    Register_,
    RegisterExt,
    RflagsBits,
)

from learned_schedulers.blocks.dag.corrections import SHIFTS
from learned_schedulers.blocks.dag.opcodes import opcode
from learned_schedulers.blocks.dag.resources import FLAGS, LANES, X87, X87_CONTROL, flags

_READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_DIRECTION = flags(RflagsBits.DF)  # LLVM has a separate register for it
_STATUS = FLAGS & ~_DIRECTION
_WITH_CARRY = {"ADC", "SBB"}
# These instructions read no operand late; the second line lists exceptions in LLVM's model of atom.
_ALL_EARLY = {*SHIFTS, "XCHG", "XADD", "CMPXCHG"}
_ALL_EARLY_CODES = {Code.CVTSI2SD_XMM_RM64, Code.CVTSI2SS_XMM_RM64, Code.PADDQ_XMM_XMMM128, Code.PSUBQ_XMM_XMMM128}
_WRITES_ACCUMULATOR = {"CBW": Register.AX, "CWD": Register.AX, "CDQ": Register.EAX, "CQO": Register.RAX}
_CONDITIONAL_MOVES = {
    code for name, code in vars(Code).items() if name.startswith("CMOV") and isinstance(code, int)
}  # in LLVM all of them read their target, in iced-x86 those of 16 and 32 bits
_LOADS_CONTROL = {"FLDCW", "FLDENV", "FNINIT", "FRSTOR"}
_READS_STATUS = {"FNSTSW", "FSTSW"}
_REGISTERS: dict[int, Register_] = {value: value for name, value in vars(Register).items() if name.isupper()}
_info_factory = InstructionInfoFactory()


class RegisterAccess(NamedTuple):
    """Registers of one instruction, as bit sets."""

    reads: int  # read when it issues
    late_reads: int  # read when its load has finished
    writes: int


def register_access(instruction: Instruction) -> RegisterAccess:
    """Registers of a decoded, valid instruction."""
    code = opcode(instruction.code)
    reads = writes = 0
    for used in _info_factory.info(instruction).used_registers():
        reads |= LANES[used.register] if used.access in _READS else 0
        writes |= LANES[used.register] if used.access in _WRITES else 0
    operands = _read_operands(instruction)
    reads |= operands | _flags(instruction.rflags_read)
    writes |= _flags(instruction.rflags_modified)
    if instruction.has_rep_prefix or instruction.has_repne_prefix:
        reads &= ~LANES[Register.RCX]
        writes &= ~LANES[Register.RCX]
    if code.name in _WRITES_ACCUMULATOR:
        writes |= LANES[_WRITES_ACCUMULATOR[code.name]]
    if code.is_x87:
        reads, writes = _x87(code.name, reads, writes)
    late = 0
    if _loads(instruction) and code.name not in _ALL_EARLY and instruction.code not in _ALL_EARLY_CODES:
        carry = _STATUS if code.name in _WITH_CARRY else 0
        late = (operands | carry) & reads & ~LANES[instruction.memory_base] & ~LANES[instruction.memory_index]
    return RegisterAccess(reads & ~late, late, writes)


def _read_operands(instruction: Instruction) -> int:
    """Registers that its operands name and that it reads, except those of an address."""
    details = _info_factory.info(_on_two_registers(instruction))
    registers = 0
    for k in range(instruction.op_count):
        keeps_target = details.op_access(k) == OpAccess.COND_WRITE and instruction.code in _CONDITIONAL_MOVES
        if instruction.op_kind(k) == OpKind.REGISTER and (keeps_target or details.op_access(k) in _READS):
            registers |= LANES[instruction.op_register(k)]
    return registers


def double_reads(instruction: Instruction) -> int:
    """Registers that occur twice among its read operands and its address: LLVM counts each occurrence as a read."""
    details = _info_factory.info(_on_two_registers(instruction))
    read_registers = [instruction.memory_base, instruction.memory_index]
    once = twice = 0
    for k in range(instruction.op_count):
        if instruction.op_kind(k) == OpKind.REGISTER and details.op_access(k) in _READS:
            read_registers.append(instruction.op_register(k))
    for register in read_registers:
        twice |= once & LANES[register]
        once |= LANES[register]
    return twice


def _flags(rflags: int) -> int:
    resources = flags(rflags)
    return (resources & _DIRECTION) | (_STATUS if resources & _STATUS else 0)


def _x87(name: str, reads: int, writes: int) -> tuple[int, int]:
    """Reads and writes of an x87 instruction: X87 stands for the status word."""
    reads, writes = reads & ~X87, writes | X87
    if name in _LOADS_CONTROL:
        return reads, writes | X87_CONTROL
    return reads | X87_CONTROL | (X87 if name in _READS_STATUS else 0), writes


def _loads(instruction: Instruction) -> bool:
    """Whether it reads its memory operand."""
    details = _info_factory.info(instruction)
    return any(
        instruction.op_kind(k) == OpKind.MEMORY and details.op_access(k) in _READS for k in range(instruction.op_count)
    )


def _on_two_registers(instruction: Instruction) -> Instruction:
    """The same operation with two different registers as its last operands: iced-x86 treats equal ones as idioms."""
    last = instruction.op_count - 1
    if last < 1 or not instruction.op_kind(last - 1) == instruction.op_kind(last) == OpKind.REGISTER:
        return instruction
    register = instruction.op_register(last)
    if register != instruction.op_register(last - 1) or not LANES[register] & ~X87:
        return instruction
    changed = instruction.copy()
    changed.set_op_register(last, _neighbour(register))
    return changed


def _neighbour(register: Register_) -> Register_:
    """Another register of the same kind; iced-x86 numbers the registers of a kind consecutively."""
    return _REGISTERS[register - 1 if RegisterExt.number(register) else register + 1]
