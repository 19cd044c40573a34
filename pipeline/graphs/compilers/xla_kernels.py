"""Kernels while XLA's fusion on CPUs is at work: what each computes and reads, and how it takes in an operand."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.graphs.compilers.hlo import Computation, Instruction
from pipeline.graphs.compilers.xla_instructions import reused_operands

Pair = tuple[str, str]  # names of an operand and its reader

_RESULT = -1  # in place of a copy's number: the kernel itself


@dataclass
class Kernel:
    """An instruction, or a fusion: copies of all that it computes, the result first."""

    copies: list[Instruction]
    reads: list[list[str | int]]  # of each copy: instructions outside, or numbers of copies
    reused: set[str]  # instructions outside of which an element may be read several times
    places: dict[int, int]  # of each copy: how often its code stands in the kernel's
    asked_by: dict[str, set[int]]  # instructions outside: the copies that compute the positions read
    is_output: bool = False  # a product with a vector that an addition took in: takes in nothing more

    @property
    def is_fusion(self) -> bool:
        return len(self.copies) > 1

    @property
    def outside(self) -> set[str]:
        return {read for reads in self.reads for read in reads if isinstance(read, str)}

    def places_for(self, users: set[int]) -> int:
        """How often code stands in the kernel's that these copies ask for."""
        return sum(self.places[user] for user in users)

    def depending(self, name: str) -> set[int]:
        """Copies that read an instruction outside, directly or through others."""
        numbers: set[int] = set()
        for number in reversed(range(len(self.reads))):  # what a copy reads has a higher number
            if any(read == name or read in numbers for read in self.reads[number]):
                numbers.add(number)
        return numbers


@dataclass
class Fusions:
    """Kernels of a computation, by the name of their result."""

    computation: Computation
    kernels: dict[str, Kernel]
    readers: dict[str, set[str]]  # of each instruction: the kernels that read it
    refusals: dict[Pair, str] = field(default_factory=dict)  # why an operand was not fused

    def instruction(self, name: str) -> Instruction:
        return self.computation.instructions[name]


def separate(computation: Computation) -> Fusions:
    """Every instruction is a kernel."""
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
    """Copy an operand into a kernel; drop it where nobody reads it any more."""
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
    """FusionNodeIndexingEvaluation: code stands once for each position that it is computed at.

    Operands of the same shape are read at the position of the copy itself, which those that read it ask for already.
    """
    copy = kernel.copies[number]
    kernel.places[number] = kernel.places_for(users)
    for operand in computation.operands(copy):
        asking = users if copy.opcode == "transpose" or operand.shape.is_laid_out_as(copy.shape) else {number}
        kernel.asked_by[operand.name] = kernel.asked_by.get(operand.name, set()) | asking
