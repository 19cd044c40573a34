"""Kernels during XLA's fusion on CPUs: what each computes and reads, and how an operand is fused into it."""

from __future__ import annotations

from dataclasses import dataclass, field

from learned_schedulers.graphs.compilers.hlo import Computation, Instruction
from learned_schedulers.graphs.compilers.xla_instructions import reused_operands

Pair = tuple[str, str]  # names of an operand and its reader

_RESULT = -1  # in place of a copy's number: the kernel itself


@dataclass
class Kernel:
    """An instruction, or a fusion: copies of all instructions that it computes, the result first."""

    copies: list[Instruction]
    reads: list[list[str | int]]  # of each copy: names of outside instructions, or numbers of copies
    reused: set[str]  # outside instructions whose elements may be read several times
    places: dict[int, int]  # of each copy: number of times that its code occurs in the kernel
    asked_by: dict[str, set[int]]  # of outside instructions: the copies that compute the positions to read
    is_output: bool = False  # an addition with a fused product with a vector: nothing more may be fused into it

    @property
    def is_fusion(self) -> bool:
        return len(self.copies) > 1

    @property
    def outside(self) -> set[str]:
        return {read for reads in self.reads for read in reads if isinstance(read, str)}

    def places_for(self, users: set[int]) -> int:
        """Number of times that code occurs in the kernel if these copies need it."""
        return sum(self.places[user] for user in users)

    def depending(self, name: str) -> set[int]:
        """Copies that read an outside instruction, directly or through other copies."""
        numbers: set[int] = set()
        for number in reversed(range(len(self.reads))):  # a copy reads copies of higher numbers
            if any(read == name or read in numbers for read in self.reads[number]):
                numbers.add(number)
        return numbers


@dataclass
class Fusions:
    """Kernels of a computation, by the name of their result."""

    computation: Computation
    kernels: dict[str, Kernel]
    readers: dict[str, set[str]]  # of each instruction: the kernels that read it
    refusals: dict[Pair, str] = field(default_factory=dict)  # why an operand is not fused

    def instruction(self, name: str) -> Instruction:
        return self.computation.instructions[name]


def separate(computation: Computation) -> Fusions:
    """One kernel for every instruction."""
    state = Fusions(computation, {}, {name: set() for name in computation.instructions})
    for name, instruction in computation.instructions.items():
        reused = reused_operands(computation, instruction)
        kernel = Kernel([instruction], [list(instruction.operands)], reused, {_RESULT: 1}, {})
        _place(computation, kernel, 0, {_RESULT})
        state.kernels[name] = kernel
        for operand in instruction.operands:
            state.readers[operand].add(name)
    return state


def fuse(state: Fusions, reader: str, operand: str) -> None:
    """Copy an operand into a kernel, and remove its own kernel if no kernel reads it any more."""
    computation, kernel = state.computation, state.kernels[reader]
    copied, number = state.instruction(operand), len(kernel.copies)
    if operand in kernel.reused:
        kernel.reused = (kernel.reused - {operand}) | set(copied.operands)
    else:
        kernel.reused |= reused_operands(computation, copied)
    kernel.copies.append(copied)
    kernel.reads = [[number if read == operand else read for read in reads] for reads in kernel.reads]
    kernel.reads.append(list(copied.operands))
    _place(computation, kernel, number, kernel.asked_by.pop(operand))
    for name in copied.operands:
        state.readers[name].add(reader)
    state.readers[operand].discard(reader)
    if not state.readers[operand]:
        del state.kernels[operand]
        for name in copied.operands:
            state.readers[name].discard(operand)


def _place(computation: Computation, kernel: Kernel, number: int, users: set[int]) -> None:
    """Count the code of a new copy as FusionNodeIndexingEvaluation does: once for each position that is computed.

    Operands of the same shape are read at the position of the copy itself, which its readers have already computed.
    """
    copy = kernel.copies[number]
    kernel.places[number] = kernel.places_for(users)
    for operand in computation.operands(copy):
        asking = users if copy.opcode == "transpose" or operand.shape.is_laid_out_as(copy.shape) else {number}
        kernel.asked_by[operand.name] = kernel.asked_by.get(operand.name, set()) | asking
