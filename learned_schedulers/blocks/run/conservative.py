"""Reasons for edges between two instructions whose two orders no state distinguishes."""

from __future__ import annotations

from iced_x86 import Instruction, Mnemonic, OpKind, RegisterExt, RflagsBits

from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.effects import effects
from learned_schedulers.blocks.dag.opcodes import opcode
from learned_schedulers.blocks.dag.resources import FLAGS, MXCSR, SYSTEM, X87_CONTROL, flags
from learned_schedulers.blocks.run import drawing, layout
from learned_schedulers.blocks.run.executable import Program
from learned_schedulers.blocks.run.roles import Roles

MEMORY = Kind.MEMORY_RAW | Kind.MEMORY_WAR | Kind.MEMORY_WAW
_FLAG = Kind.FLAG_RAW | Kind.FLAG_WAR | Kind.FLAG_WAW
_CARRY = flags(RflagsBits.CF)
_CONTROL = X87_CONTROL | MXCSR
_EXTENSIONS = (Mnemonic.MOV, Mnemonic.MOVZX, Mnemonic.MOVSX, Mnemonic.MOVSXD)
_EXTENSIONS_OF_AX = (Mnemonic.CBW, Mnemonic.CWDE, Mnemonic.CDQE)
_SIGNS = (Mnemonic.CWD, Mnemonic.CDQ, Mnemonic.CQO)
_PREFETCHES = tuple(value for name, value in vars(Mnemonic).items() if name.startswith("PREFETCH"))
_COMMUTING = (  # those of one group commute on a common target, up to flags
    {"ADD", "SUB", "INC", "DEC", "LEA"},
    {"AND", "OR", "XOR", "NOT", "BTS", "BTR", "BTC"},
    {"IMUL", "SHL", "SAL", "LEA", "NEG"},
    {"ROL", "ROR"},
    *({f"PADD{size}", f"PSUB{size}"} for size in "BWDQ"),
)
_COMMUTING_VECTORS = ("PADD", "PSUB", "PAND", "POR", "PXOR", "PMUL", "PMIN", "PMAX", "MAX", "MIN", "AND", "OR", "XOR")


def over_conservative(pair: Program, pair_roles: Roles, kinds: Kind, codes: list[int]) -> str:
    """The reason for an edge of a pair of instructions, whose two orders compare as `codes`; "" if it is unknown.

    The orders have been compared from many states and never differed: the function only explains why.
    """
    first, second = pair.instructions
    first_effects, second_effects = effects(first), effects(second)
    if pair.pieces[0] == pair.pieces[1] and pair.displacement_at[0] < 0:
        return "identical instructions"
    if first_effects.barrier or second_effects.barrier or (first_effects.writes | second_effects.writes) & SYSTEM:
        return "barrier"
    if first.has_lock_prefix or second.has_lock_prefix:
        return "locked: ordered with all memory accesses"
    if (first_effects.writes | second_effects.writes) & _CONTROL:
        return "a control word that the other's result does not depend on"
    if first.mnemonic in _PREFETCHES or second.mnemonic in _PREFETCHES:
        return "a prefetch leaves no trace"
    shared = (
        first_effects.reads & second_effects.writes
        | first_effects.writes & (second_effects.reads | second_effects.writes)
    ) & FLAGS
    undefined = shared & ~(first_effects.undefined | second_effects.undefined) == 0
    if layout.UNDEFINED_FLAGS in codes or (shared and undefined and not kinds & ~_FLAG):
        return "flags that are undefined"
    if not kinds & ~Kind.FLAG_WAR and _is_borrow_from_itself(second) and not shared & ~_CARRY:
        return "a subtraction with borrow of a register from itself keeps the carry"
    if not kinds & ~MEMORY:
        if not drawing.can_overlap(pair_roles):
            return "addresses never meet"
        return "both store the same value" if _stored(first) == _stored(second) != () else ""
    if not kinds & ~_FLAG and not (first_effects.reads | second_effects.reads) & ~SYSTEM:
        return "both set the flags to the same constants"
    if _extends_in_place(first) or _extends_in_place(second):
        return "a register extended in place keeps the bits that the other uses"
    if second.mnemonic == Mnemonic.TEST and _is_register(first, 0) and _full(first, 0) == _full(second, 0):
        return "the flags that a test sets are there already"
    if first.mnemonic == Mnemonic.SAR and second.mnemonic in _SIGNS:
        return "a shift that keeps the sign, which is all that the other uses"
    if _repeats(first, second):
        return "an operation that makes the same of its own result"
    return "operations that commute" if _commute(first, second) else ""


def _is_register(instruction: Instruction, operand: int) -> bool:
    return instruction.op_count > operand and instruction.op_kind(operand) == OpKind.REGISTER


def _full(instruction: Instruction, operand: int) -> int:
    return RegisterExt.full_register(instruction.op_register(operand))


def _stored(instruction: Instruction) -> tuple[int, ...]:
    """The value that a `mov` stores, a register or an immediate; () for another instruction."""
    if instruction.mnemonic != Mnemonic.MOV:
        return ()
    if _is_register(instruction, 1):
        return (0, instruction.op_register(1))
    return (1, instruction.immediate(1))


def _is_borrow_from_itself(instruction: Instruction) -> bool:
    same = _is_register(instruction, 1) and instruction.op0_kind == OpKind.REGISTER
    return instruction.mnemonic == Mnemonic.SBB and same and instruction.op0_register == instruction.op1_register


def _extends_in_place(instruction: Instruction) -> bool:
    if instruction.mnemonic in _EXTENSIONS_OF_AX:
        return True
    registers = _is_register(instruction, 0) and _is_register(instruction, 1)
    moves = instruction.mnemonic in _EXTENSIONS or opcode(instruction.code).name.startswith("CMOV")
    return moves and registers and _full(instruction, 0) == _full(instruction, 1)


def _repeats(first: Instruction, second: Instruction) -> bool:
    """Whether both are the same operation on the same source, which the second one overwrites."""
    if first.code != second.code or first.op_count != second.op_count or not _is_register(second, 1):
        return False
    rest = range(2, first.op_count)
    constants = all(first.op_kind(k) == second.op_kind(k) != OpKind.REGISTER for k in rest)
    same = constants and all(first.immediate(k) == second.immediate(k) for k in rest)
    return same and first.op1_register == second.op1_register == second.op0_register


def _commute(first: Instruction, second: Instruction) -> bool:
    if not (_is_register(first, 0) and _is_register(second, 0)) or _full(first, 0) != _full(second, 0):
        return False
    names = {opcode(instruction.code).name.removeprefix("V") for instruction in (first, second)}
    if len(names) == 1 and next(iter(names)).startswith(_COMMUTING_VECTORS):
        return True
    return any(names <= group for group in _COMMUTING)
