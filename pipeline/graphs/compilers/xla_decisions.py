"""Which operands XLA's pass `fusion` fused, read from HLO text before and after it, beside what our rule decides.

A pair is an instruction and one of its operands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pipeline.graphs.compilers.hlo import Computation, Instruction, Module
from pipeline.graphs.compilers.xla_cpu import fusions
from pipeline.graphs.compilers.xla_kernels import Fusions, Pair

Answer = Literal["fused", "separate", "both"]  # both: in some of the reader's copies

_PLUMBING = {"parameter", "tuple", "get-tuple-element"}  # compute nothing: no pair of them is compared
_CALLING = {"reduce", "reduce-window", "map", "scatter", "custom-call", "fusion"}  # what they call stays as it is


def answers(state: Fusions) -> dict[Pair, Answer]:
    """Of every instruction and its operands: whether a kernel of the instruction computes the operand itself."""
    said: dict[Pair, set[bool]] = defaultdict(set)
    for kernel in state.kernels.values():
        for copy, reads in zip(kernel.copies, kernel.reads, strict=True):
            for operand, read in zip(copy.operands, reads, strict=True):
                said[operand, copy.name].add(isinstance(read, int))
    return _summed(said)


def read_fusions(before: Computation, after: Module) -> dict[Pair, Answer]:
    """What XLA decided: the same, of the text after the pass. Raises ValueError where that is no text of the same.

    Both texts are followed from the results to the operands; a fusion's parameters are what it reads.
    """
    outer = after.computations[before.name]
    said: dict[Pair, set[bool]] = defaultdict(set)
    pending, seen = [("", outer.root, before.root)], set()
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        fusion, name, original = at
        computation = _called(after, outer.instructions[fusion]) if fusion else outer
        instruction, wanted = computation.instructions[name], before.instructions[original]
        if instruction.opcode == "fusion" and wanted.opcode != "fusion":
            pending.append((name, _called(after, instruction).root, original))
            continue
        if (instruction.opcode, instruction.shape) != (wanted.opcode, wanted.shape):
            raise ValueError(f"{before.name}: {original} is {wanted.opcode} before and {instruction.opcode} after")
        for operand, source in zip(instruction.operands, wanted.operands, strict=True):
            inner = computation.instructions[operand]
            is_read = bool(fusion) and inner.opcode == "parameter"
            said[source, original].add(bool(fusion) and not is_read)
            if is_read:
                pending.append(("", outer.instructions[fusion].operands[int(inner.literal)], source))
            else:
                pending.append((fusion, operand, source))
    return _summed(said)


def _called(module: Module, fusion: Instruction) -> Computation:
    return module.computations[fusion.attributes["calls"].removeprefix("%")]


def _summed(said: Mapping[Pair, set[bool]]) -> dict[Pair, Answer]:
    return {pair: "both" if len(of) > 1 else "fused" if True in of else "separate" for pair, of in said.items()}


@dataclass(frozen=True)
class Compared:
    """An instruction and one of its operands, by our rule and by XLA."""

    computation: Computation
    operand: Instruction
    reader: Instruction
    ours: Answer
    xla: Answer
    why: str  # ours is not fused

    @property
    def agrees(self) -> bool:
        return self.ours == self.xla


def compare(before: Module, after: Module) -> list[Compared]:
    """All pairs whose ends compute something, of all computations that the pass goes through."""
    return [pair for computation in fused_computations(before) for pair in _compare(computation, after)]


def fused_computations(module: Module) -> list[Computation]:
    """Computations that the pass goes through: no bodies of reductions and the like, and no fusions of other passes."""
    called: set[str] = set()
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            if instruction.opcode in _CALLING:
                for attribute in ("to_apply", "calls", "called_computations"):
                    called.update(re.findall(r"[\w.\-]+", instruction.attributes.get(attribute, "")))
    return [computation for name, computation in module.computations.items() if name not in called]


def _compare(computation: Computation, after: Module) -> Iterable[Compared]:
    state = fusions(computation)
    ours = answers(state)
    for pair, xla in read_fusions(computation, after).items():
        operand, reader = map(state.instruction, pair)
        if not {operand.opcode, reader.opcode} & _PLUMBING:
            why = "" if ours[pair] == "fused" else state.refusals.get(pair, "")
            yield Compared(computation, operand, reader, ours[pair], xla, why)
