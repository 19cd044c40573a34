"""XLA's fusion on CPUs, on XLA's own instructions: the operands that the pass `fusion` of its CPU compiler fuses.

This is our implementation of the published rule (openxla/xla: CpuInstructionFusion on top of InstructionFusion, with
FusionNodeIndexingEvaluation; the state of jaxlib 0.10; described by Snider & Liang 2023, "Operator Fusion in XLA").
Readers are visited from last to first. Each reader fuses the operands that it may fuse, the last operand first, then
the operands of these, until none remains. An operand with more readers is copied, and removed once nothing reads it.
Control dependencies are left out, and fusions of other passes do not change.
"""

from __future__ import annotations

import re

from learned_schedulers.graphs.compilers.hlo import Computation, Instruction
from learned_schedulers.graphs.compilers.xla_instructions import (
    is_always_copied,
    is_elementwise,
    is_expensive,
    is_loop,
    is_product_with_vector,
)
from learned_schedulers.graphs.compilers.xla_kernels import Fusions, Kernel, fuse, separate

_EMITTED_ANEW = {"concatenate", "dot", "dynamic-update-slice", "pad", "reduce", "reduce-window"}  # for every use
_NEVER = {
    *("domain", "parameter", "while", "conditional", "call", "infeed", "outfeed", "send", "send-done", "recv"),
    *("recv-done", "rng-get-and-update-state"),
}

_MOST_CONCATENATED = 8  # operands
_MINOR_CONCATENATED = 128  # elements along the minor dimension; a concatenation of at least so many stays alone
_MOST_REDUCTIONS = 5  # in a kernel before one more is fused into it
_MOST_PLACES = 15  # in the kernel's code that compute a fused operand
_SMALL_VECTOR = 16 * 1024  # bytes of the vector in a product whose matrix is fused into it


def fusions(computation: Computation) -> Fusions:
    """The kernels that the pass makes of a computation (InstructionFusion::Run)."""
    state = separate(computation)
    position = {name: number for number, name in enumerate(computation.instructions)}
    not_copied = _not_copied(state)
    for reader in reversed(position):
        if reader not in state.kernels or not _may_be_fused(state, reader):
            continue
        kernel, pending = state.kernels[reader], True
        while pending:
            pending = False
            for operand in sorted(kernel.outside, key=lambda name: -position[name]):
                reason = _refusal(state, reader, operand, not_copied)
                if not reason:
                    kernel.is_output = not kernel.is_fusion and _ends_in_addition(state, operand, kernel.copies[0])
                    fuse(state, reader, operand)
                    pending = True
                    break
                for copy, reads in zip(kernel.copies, kernel.reads, strict=True):
                    if operand in reads:
                        state.refusals[operand, copy.name] = reason
    return state


def _may_be_fused(state: Fusions, name: str) -> bool:
    """HloInstruction::IsFusible; a fusion of another pass does not change."""
    instruction = state.instruction(name)
    if instruction.opcode == "rng" and len(state.readers[name]) > 1:
        return False
    has_effect = instruction.attributes.get("custom_call_has_side_effect") == "true"
    return instruction.opcode not in _NEVER | {"fusion"} and not has_effect


def _refusal(state: Fusions, reader: str, operand: str, not_copied: set[str]) -> str:
    if not _may_be_fused(state, operand):
        return "cannot be fused"
    return "copies would read more" if operand in not_copied else refusal(state, reader, operand)


def _not_copied(state: Fusions) -> set[str]:
    """Producers of several large operands that cannot be fused into all readers on all paths.

    (InstructionFusion::ComputeGloballyUnfusible)
    """
    computation = state.computation
    not_copied: set[str] = set()
    reached: dict[str, set[str]] = {}  # of an instruction: itself and all instructions that it needs
    for name, instruction in computation.instructions.items():
        reached[name] = {name}.union(*(reached[operand] for operand in instruction.operands))
    names = list(computation.instructions)
    for number in reversed(range(len(names))):
        producer = state.instruction(names[number])
        operands = computation.operands(producer)
        large = [o for o in operands if not _is_small(o) and o.shape.rank >= producer.shape.rank]
        if len(large) <= 1:
            continue
        if sum(state.instruction(o).shape.elements for o in set(producer.operands)) <= producer.shape.elements:
            continue
        fused = {producer.name} if _may_be_fused(state, producer.name) else set()
        for reader in names[number + 1 :]:
            on_a_path = {o for o in state.instruction(reader).operands if producer.name in reached[o]}
            if (
                on_a_path <= fused - not_copied
                and _may_be_fused(state, reader)
                and not any(refusal(state, reader, operand) for operand in on_a_path)
            ):
                fused.add(reader)
        if not fused or not state.readers[producer.name] <= fused:
            not_copied.add(producer.name)
    return not_copied


def _is_small(instruction: Instruction) -> bool:
    if instruction.opcode == "constant":
        return instruction.shape.is_scalar
    return instruction.opcode in ("broadcast", "iota")


def refusal(state: Fusions, reader: str, operand: str) -> str:
    """Why an operand is not fused into a kernel; empty if it is fused (CpuInstructionFusion::ShouldFuse)."""
    computation, kernel, producer = state.computation, state.kernels[reader], state.instruction(operand)
    consumer = kernel.copies[0]
    if producer.opcode == "constant" and not producer.shape.is_scalar:
        return "a constant of several elements"
    if not kernel.is_fusion and _ends_in_addition(state, operand, consumer):
        return ""
    if any(_ends_in_addition(state, name, producer) for name in producer.operands):
        return "takes in a product itself"
    if not is_loop(computation, producer):
        return "no loop"
    if _stays_concatenated(producer) or (not kernel.is_fusion and _stays_concatenated(consumer)):
        return "a long concatenation"
    if operand in kernel.reused and is_expensive(computation, producer):
        return "expensive and read several times"
    if operand == computation.root:
        return "the result"
    copied = len(state.readers[operand]) > 1
    if copied and is_expensive(computation, producer) and not is_always_copied(computation, producer):
        return "expensive and read by others"
    if reason := _overwritten(state, kernel, producer):
        return reason
    if not kernel.is_fusion:
        if producer.opcode == "constant":
            return "a constant alone"
        fused = is_loop(computation, consumer) or _takes_in_matrix(computation, consumer, operand)
        return "" if fused else "the reader is no loop"
    if producer.opcode == "reduce" and sum(copy.opcode == "reduce" for copy in kernel.copies) > _MOST_REDUCTIONS:
        return "many reductions"
    if _too_much_code(state, kernel, producer):
        return "its code would be copied"
    return "the reader takes in nothing more" if kernel.is_output else ""


def _ends_in_addition(state: Fusions, operand: str, consumer: Instruction) -> bool:
    """CanBeOutputFused: a product with a vector is computed by the addition that is its only reader."""
    product = state.instruction(operand)
    return (
        consumer.opcode == "add"
        and is_product_with_vector(product)
        and not product.shape.is_complex
        and "lhs_batch_dims" not in product.attributes
        and consumer.operands.count(operand) == 1
        and state.readers[operand] == {consumer.name}
    )


def _stays_concatenated(instruction: Instruction) -> bool:
    if instruction.opcode != "concatenate":
        return False
    shape, along = instruction.shape, int(instruction.attributes["dimensions"].strip("{}"))
    minor = len(shape.dimensions) > 1 and along == shape.layout[0] and shape.dimensions[along] >= _MINOR_CONCATENATED
    return minor or len(instruction.operands) > _MOST_CONCATENATED


def _takes_in_matrix(computation: Computation, consumer: Instruction, operand: str) -> bool:
    """Whether the operand is the matrix of a product with a small vector, so that it may be fused into the product."""
    if not is_product_with_vector(consumer):
        return False
    sides = computation.operands(consumer)
    small = [len(side.shape.dimensions) == 1 and side.shape.bytes < _SMALL_VECTOR for side in sides]
    return any(side.name == operand and small_vector for side, small_vector in zip(sides, reversed(small), strict=True))


def _too_much_code(state: Fusions, kernel: Kernel, producer: Instruction) -> bool:
    """FusionNodeIndexingEvaluation::CodeDuplicationTooHigh."""
    if producer.opcode == "broadcast":
        return False
    places = kernel.places_for(kernel.asked_by[producer.name])
    if producer.opcode not in _EMITTED_ANEW:
        return places > _MOST_PLACES
    reading = (state.kernels[name].reads for name in state.readers[producer.name])
    return places > 1 or sum(producer.name in reads for copies in reading for reads in copies) > 1


def _overwritten(state: Fusions, kernel: Kernel, producer: Instruction) -> str:
    """ShouldFuseInPlaceOp: an array that is updated in place must not be read at other positions at the same time."""
    computation, update = state.computation, kernel.copies[0]
    if update.opcode != "dynamic-update-slice":
        return ""
    updated, *further_reads = kernel.reads[0]
    if isinstance(updated, int) and kernel.copies[updated].opcode == "bitcast":
        updated = kernel.reads[updated][0]  # it has the same memory
    if isinstance(updated, int):
        return ""
    if not kernel.is_fusion and updated in further_reads:
        return "is read where it is overwritten"
    if updated not in (producer.name, *producer.operands):
        return ""
    copies = enumerate(kernel.copies)
    moving = {number for number, copy in copies if number and not is_elementwise(computation, copy)}
    moved = moving & kernel.depending(producer.name)
    if producer.opcode == "bitcast" or is_elementwise(computation, producer):
        moved = {number for number in moved if kernel.copies[number].opcode != "bitcast"}
    elif any(copy.opcode == "dynamic-update-slice" for copy in kernel.copies[1:]):
        return "several updates"
    elif not _is_same_slice(state, kernel, producer):
        return "reads other positions than are overwritten"
    return "is read elsewhere while it is overwritten" if moved else ""


def _is_same_slice(state: Fusions, kernel: Kernel, producer: Instruction) -> bool:
    """Whether the producer slices exactly the positions that the kernel updates."""
    update = kernel.copies[0]
    if producer.shape != state.instruction(update.operands[1]).shape:
        return False
    begins = [_begin(state, name) for name in update.operands[2:]]
    if producer.opcode == "dynamic-slice":
        return begins == [_begin(state, name) for name in producer.operands[1:]]
    if producer.opcode != "slice":
        return False
    ranges = re.findall(r"\[(\d+):\d+(?::(\d+))?\]", producer.attributes["slice"])
    return begins == [int(begin) for begin, _ in ranges] and all(stride in ("", "1") for _, stride in ranges)


def _begin(state: Fusions, name: str) -> str | int:
    """The value of a constant, or the name of any other instruction."""
    instruction = state.instruction(name)
    number = re.search(r"-?\d+", instruction.literal)
    return int(number[0]) if instruction.opcode == "constant" and number else name
