"""Differences of two instructions: the one that GCC issued, and the one that was predicted in its place.

Both were ready, so neither depends on the other. Categories are predicates of such a case, in the sequence of their
evaluation; a case may satisfy several categories, and counts for the first one. They tell where a wrong choice
happened, not why. GCC 4.9 schedules x86 after register allocation, by priority (longest latency to the block's end);
the source order breaks ties, and the block does not contain it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from iced_x86 import Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, Register_, RegisterExt

from learned_schedulers.blocks.dag.dependencies import Kind
from pipeline.imitation.naming import IMMEDIATE_KINDS

_ACCESSES = InstructionInfoFactory()
_READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
_MOVES = {
    Mnemonic.MOV, Mnemonic.MOVZX, Mnemonic.MOVSX, Mnemonic.MOVSXD, Mnemonic.MOVSS, Mnemonic.MOVSD, Mnemonic.MOVAPS,
    Mnemonic.MOVAPD, Mnemonic.MOVUPS, Mnemonic.MOVDQA, Mnemonic.MOVDQU, Mnemonic.MOVD, Mnemonic.MOVQ,
}  # fmt: skip
_ZEROING = {Mnemonic.XOR, Mnemonic.SUB, Mnemonic.PXOR, Mnemonic.XORPS, Mnemonic.XORPD}
_VECTOR_ARGUMENTS = 8
# Argument registers of a call (System V ABI for x86-64, 3.2.3), and rax: result, or number of vector arguments.
_ARGUMENTS = {
    Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9, Register.RAX,
    *(Register.XMM0 + k for k in range(_VECTOR_ARGUMENTS)),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A block of n instructions as GCC emitted it, and the first slot at which another order leaves it."""

    instructions: list[Instruction]
    conflicts: np.ndarray  # (n, n) uint16: kinds of dependencies, [i, k] of i before k
    heights: np.ndarray  # (n,) cycles, longest path to the block's end
    slot: int
    predicted: int  # index of the instruction that was predicted there; GCC has number `slot`
    interchangeable: bool  # up to renamed registers, an automorphism that fixes all earlier slots exchanges the two

    @property
    def pair(self) -> tuple[int, int]:
        """GCC's and the predicted instruction."""
        return self.slot, self.predicted


def _written(instruction: Instruction) -> Register_:
    """The whole register of operand 0 if the instruction writes it, else NONE."""
    if not instruction.op_count or instruction.op_kind(0) != OpKind.REGISTER:
        return Register.NONE
    written = _ACCESSES.info(instruction).op_access(0) in _WRITES
    return RegisterExt.full_register(instruction.op_register(0)) if written else Register.NONE


def _zeroes(instruction: Instruction) -> bool:
    same = instruction.op_count > 1 and instruction.op0_kind == instruction.op1_kind == OpKind.REGISTER
    return same and instruction.mnemonic in _ZEROING and instruction.op0_register == instruction.op1_register


def _is_constant(instruction: Instruction) -> bool:
    """Whether it writes a constant, or a constant or stack frame's address, into a register."""
    if _written(instruction) == Register.NONE:
        return False
    if instruction.mnemonic == Mnemonic.LEA:
        fixed = instruction.memory_base in (Register.RIP, Register.EIP, Register.RSP, Register.NONE)
        return fixed and instruction.memory_index == Register.NONE
    return _zeroes(instruction) or (instruction.mnemonic == Mnemonic.MOV and instruction.op1_kind in IMMEDIATE_KINDS)


def _sets_argument(case: Case, i: int) -> bool:
    """Whether it moves a value, for use after the block, into a register of _ARGUMENTS."""
    instruction = case.instructions[i]
    moves = instruction.mnemonic in _MOVES or instruction.mnemonic == Mnemonic.LEA or _zeroes(instruction)
    target = int(_written(instruction))
    if RegisterExt.is_vector_register(_written(instruction)):
        target = Register.XMM0 + RegisterExt.number(_written(instruction))
    return moves and target in _ARGUMENTS and not (case.conflicts[i] & Kind.REGISTER_RAW).any()


def _memory(instruction: Instruction) -> tuple[int, ...] | None:
    """Registers that address its memory operand, if it accesses memory by a register."""
    kinds = [instruction.op_kind(k) for k in range(instruction.op_count)]
    if OpKind.MEMORY not in kinds or instruction.is_ip_rel_memory_operand or instruction.mnemonic == Mnemonic.LEA:
        return None
    return instruction.memory_base, instruction.memory_index, instruction.memory_index_scale, instruction.segment_prefix


def _distance(case: Case) -> int:
    """Bytes from the address of GCC's instruction to the address of the predicted one."""
    ours, theirs = (case.instructions[i].memory_displacement for i in case.pair)
    return (theirs - ours + (1 << 63)) % (1 << 64) - (1 << 63)


def _copies(instruction: Instruction) -> bool:
    """Whether it copies one register to another."""
    moves = instruction.mnemonic in _MOVES and instruction.op_count == 2
    return moves and instruction.op0_kind == instruction.op1_kind == OpKind.REGISTER


def _loads(instruction: Instruction) -> bool:
    """Whether it moves memory to a register."""
    moves = instruction.mnemonic in _MOVES and _written(instruction) != Register.NONE
    return moves and OpKind.MEMORY in {instruction.op_kind(k) for k in range(instruction.op_count)}


def _stores(instruction: Instruction) -> bool:
    """Whether it writes memory and no register except the stack pointer."""
    accesses = _ACCESSES.info(instruction)
    registers = {r.register for r in accesses.used_registers() if r.access in _WRITES} - {Register.RSP}
    return any(m.access in _WRITES for m in accesses.used_memory()) and not registers


def _updates_address(case: Case, i: int) -> bool:
    """Whether it moves the stack pointer, or adds a constant to a register that addresses another one's memory."""
    instruction = case.instructions[i]
    if instruction.is_stack_instruction or _written(instruction) == Register.RSP:
        return True
    target = _written(instruction)
    steps = instruction.mnemonic in (Mnemonic.ADD, Mnemonic.SUB) and instruction.op1_kind in IMMEDIATE_KINDS
    steps |= instruction.mnemonic == Mnemonic.LEA and target in (instruction.memory_base, instruction.memory_index)
    steps |= instruction.mnemonic in (Mnemonic.INC, Mnemonic.DEC)
    rest = (neighbour for k, neighbour in enumerate(case.instructions) if k != i)
    used = {register for neighbour in rest if (address := _memory(neighbour)) for register in address[:2]}
    return steps and target != Register.NONE and target in used


def _pressure(case: Case, i: int) -> int:
    """Change of the number of live registers: the registers that it defines, less those without a later reader."""
    uses = [
        [(RegisterExt.full_register(r.register), r.access) for r in _ACCESSES.info(instruction).used_registers()]
        for instruction in case.instructions
    ]
    read = [{register for register, access in accesses if access in _READS} for accesses in uses]
    written = [{register for register, access in accesses if access in _WRITES} for accesses in uses]
    later = [k for k in range(case.slot, len(uses)) if k != i]  # not issued yet, as GCC numbers them
    dying = 0
    for register in read[i]:
        overwritten = [k for k in later if register in written[k] and register not in read[k] and k > i]
        readers = [k for k in later if register in read[k] and (not overwritten or k < overwritten[0])]
        dying += not readers and (bool(overwritten) or register in written[i])
    return len(written[i]) - dying


def _alone(case: Case, i: int) -> bool:
    return not case.conflicts[i].any() and not case.conflicts[:, i].any()


def _memory_order(case: Case) -> bool:
    ours, theirs = (_memory(case.instructions[i]) for i in case.pair)
    return ours is not None and ours == theirs and _distance(case) != 0


def _store_placement(case: Case) -> bool:
    ours, theirs = (_stores(case.instructions[i]) for i in case.pair)
    return ours != theirs


# name -> (whether it holds, how GCC ordered the two)
CATEGORIES: dict[str, tuple[Callable[[Case], bool], Callable[[Case], str]]] = {
    # Only names distinguish the two: an automorphism of the block exchanges them.
    "symmetric": (lambda case: case.interchangeable, lambda case: ""),
    # Both access memory through the same registers at different displacements.
    "memory_order": (_memory_order, lambda case: "GCC ascending" if _distance(case) > 0 else "GCC descending"),
    # Both move a value, which the block does not read, into an argument or result register.
    "argument_moves": (lambda case: all(_sets_argument(case, i) for i in case.pair), lambda case: ""),
    # Both write a constant, or a constant or frame address, into a register.
    "constant_setup": (lambda case: all(_is_constant(case.instructions[i]) for i in case.pair), lambda case: ""),
    # Both copy a register to another, as a function's beginning does with its arguments.
    "register_copies": (lambda case: all(_copies(case.instructions[i]) for i in case.pair), lambda case: ""),
    # Both load, through different registers or none.
    "load_order": (lambda case: all(_loads(case.instructions[i]) for i in case.pair), lambda case: ""),
    # At least one moves the stack pointer, or steps a register that addresses memory of other instructions.
    "address_update": (
        lambda case: any(_updates_address(case, i) for i in case.pair),
        lambda case: "GCC first" if _updates_address(case, case.slot) else "GCC later",
    ),
    # One only stores, the other sets registers or flags.
    "store_placement": (
        _store_placement,
        lambda case: "GCC stores first" if _stores(case.instructions[case.slot]) else "GCC stores later",
    ),
    # Neither has a dependency within the block: only code outside of the block can decide.
    "cross_block": (lambda case: all(_alone(case, i) for i in case.pair), lambda case: ""),
    # Their longest paths to the block's end differ: GCC's own priority.
    "latency": (
        lambda case: bool(case.heights[case.slot] != case.heights[case.predicted]),
        lambda case: "GCC higher" if case.heights[case.slot] > case.heights[case.predicted] else "GCC lower",
    ),
    # One leaves more live registers than the other.
    "register_pressure": (
        lambda case: _pressure(case, case.slot) != _pressure(case, case.predicted),
        lambda case: "GCC fewer" if _pressure(case, case.slot) < _pressure(case, case.predicted) else "GCC more",
    ),
    "other": (lambda case: True, lambda case: ""),
}


def classify(case: Case) -> tuple[list[str], str]:
    """Names of all categories that hold, the counted one first, and how GCC ordered the two in that one."""
    holds = [name for name, (true_of, _) in CATEGORIES.items() if true_of(case)]
    return holds, CATEGORIES[holds[0]][1](case)
