"""Decisions of XLA's pass `fusion`, read from HLO text before and after it, and those of our rule for comparison.

A pair is an instruction and one of its operands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from learned_schedulers.graphs.compilers.hlo import Computation, Instruction, Module
from learned_schedulers.graphs.compilers.xla_cpu import fusions
from learned_schedulers.graphs.compilers.xla_kernels import Fusions, Pair

Answer = Literal["fused", "separate", "both"]  # both: fused in some of the reader's copies only

_PLUMBING = {"parameter", "tuple", "get-tuple-element"}  # they compute nothing; their pairs are not compared
_CALLING = {"reduce", "reduce-window", "map", "scatter", "custom-call", "fusion"}  # their callees do not change


def answers(state: Fusions) -> dict[Pair, Answer]:
    """For every instruction and each of its operands: whether a kernel of the instruction computes the operand."""
    decisions: dict[Pair, set[bool]] = defaultdict(set)
    for kernel in state.kernels.values():
        for copy, reads in zip(kernel.copies, kernel.reads, strict=True):
            for operand, read in zip(copy.operands, reads, strict=True):
                decisions[operand, copy.name].add(isinstance(read, int))
    return _summed(decisions)


def read_fusions(before: Computation, after: Module) -> dict[Pair, Answer]:
    """XLA's answers, from the text after the pass. Raises ValueError if the text is of a different computation.

    Both texts are followed from the results to the operands; a fusion reads its parameters.
    """
    outer = after.computations[before.name]
    decisions: dict[Pair, set[bool]] = defaultdict(set)
    pending, visited = [("", outer.root, before.root)], set()
    while pending:
        entry = pending.pop()
        if entry in visited:
            continue
        visited.add(entry)
        fusion, name, original = entry
        computation = _called(after, outer.instructions[fusion]) if fusion else outer
        instruction, unfused = computation.instructions[name], before.instructions[original]
        if instruction.opcode == "fusion" and unfused.opcode != "fusion":
            pending.append((name, _called(after, instruction).root, original))
            continue
        if (instruction.opcode, instruction.shape) != (unfused.opcode, unfused.shape):
            raise ValueError(
                f"{before.name}: {original} is {unfused.opcode} before the pass and {instruction.opcode} after it"
            )
        for operand, source in zip(instruction.operands, unfused.operands, strict=True):
            inner = computation.instructions[operand]
            is_read = bool(fusion) and inner.opcode == "parameter"
            decisions[source, original].add(bool(fusion) and not is_read)
            if is_read:
                pending.append(("", outer.instructions[fusion].operands[int(inner.literal)], source))
            else:
                pending.append((fusion, operand, source))
    return _summed(decisions)


def _called(module: Module, fusion: Instruction) -> Computation:
    return module.computations[fusion.attributes["calls"].removeprefix("%")]


def _summed(decisions: Mapping[Pair, set[bool]]) -> dict[Pair, Answer]:
    return {
        pair: "both" if len(fused) > 1 else "fused" if True in fused else "separate"
        for pair, fused in decisions.items()
    }


@dataclass(frozen=True)
class Compared:
    """The decisions of our rule and of XLA about an instruction and one of its operands."""

    computation: Computation
    operand: Instruction
    reader: Instruction
    ours: Answer
    xla: Answer
    why: str  # our rule does not fuse the operand

    @property
    def agrees(self) -> bool:
        return self.ours == self.xla


def compare(before: Module, after: Module) -> list[Compared]:
    """All pairs whose ends compute something, in all computations that the pass visits."""
    return [pair for computation in fused_computations(before) for pair in _compare(computation, after)]


def fused_computations(module: Module) -> list[Computation]:
    """Computations that the pass visits: no bodies of reductions and the like, and no fusions of earlier passes."""
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
