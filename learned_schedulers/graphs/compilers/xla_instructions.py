"""Properties of an instruction in XLA's CPU compiler: whether it is a loop, is expensive, or reuses its operands.

They follow openxla/xla (HloInstruction, InstructionFusion, CpuInstructionFusion; the state of jaxlib 0.10).
"""

from __future__ import annotations

from learned_schedulers.graphs.compilers.hlo import Computation, Instruction

_ELEMENTWISE = {
    *("abs", "acos", "acosh", "asin", "asinh", "atanh", "round-nearest-afz", "round-nearest-even", "ceil", "copy"),
    *("count-leading-zeros", "convert", "bitcast-convert", "cosine", "cosh", "erf", "exponential", "floor", "imag"),
    *("exponential-minus-one", "is-finite", "log", "log-plus-one", "not", "negate", "popcnt", "real", "rsqrt", "sign"),
    *("reduce-precision", "logistic", "sine", "sinh", "sqrt", "cbrt", "tan", "tanh"),
    *("add", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "power", "remainder", "and"),
    *("subtract", "or", "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical", "stochastic-convert"),
    *("select", "clamp", "constant", "map", "rng"),
}
_LOOPS = {  # not elementwise, but computed element by element
    *("bitcast", "broadcast", "concatenate", "dynamic-slice", "dynamic-update-slice", "gather", "iota", "pad"),
    *("reduce", "reshape", "reverse", "slice", "transpose"),
}
_CHEAP = {
    *("add", "and", "bitcast", "bitcast-convert", "broadcast", "ceil", "clamp", "count-leading-zeros", "compare"),
    *("complex", "concatenate", "constant", "copy", "dynamic-reshape", "dynamic-slice", "dynamic-update-slice"),
    *("floor", "imag", "iota", "is-finite", "maximum", "minimum", "multiply", "negate", "not", "or", "pad", "popcnt"),
    *("real", "reduce-precision", "reshape", "reverse", "round-nearest-afz", "round-nearest-even", "select", "slice"),
    *("shift-left", "shift-right-arithmetic", "shift-right-logical", "stochastic-convert", "subtract", "transpose"),
    *("xor", "get-tuple-element", "tuple", "optimization-barrier", "partition-id", "replica-id"),
}
_CHEAP_WHERE_REAL = {"abs", "sign", "cosine", "sine", "tan"}
# Each element at most once.
_READ_ONCE = {"bitcast", "concatenate", "reshape", "reverse", "slice", "transpose", "gather"}


def is_elementwise(computation: Computation, instruction: Instruction) -> bool:
    """HloInstruction::IsElementwise."""
    if instruction.opcode == "bitcast-convert":
        return instruction.shape.bits == computation.operands(instruction)[0].shape.bits
    return instruction.opcode in _ELEMENTWISE


def is_loop(computation: Computation, instruction: Instruction) -> bool:
    """CanBeLoopFused: the CPU compiler can compute the instruction element by element within another loop."""
    return instruction.opcode in _LOOPS or is_elementwise(computation, instruction)


def is_expensive(computation: Computation, instruction: Instruction) -> bool:
    """CpuInstructionFusion::IsExpensive: the instruction should not be computed twice."""
    if instruction.opcode in _CHEAP_WHERE_REAL:
        return instruction.shape.is_complex
    if instruction.opcode == "convert":  # rounding to bfloat16 tests for NaN
        return (computation.operands(instruction)[0].shape.element, instruction.shape.element) == ("f32", "bf16")
    if instruction.opcode in ("divide", "remainder") and instruction.shape.is_integral:
        divided = computation.operands(instruction)[0]  # as published, although the divisor is probably meant
        if divided.opcode == "broadcast":
            divided = computation.operands(divided)[0]
        return not (divided.opcode == "constant" and divided.shape.is_scalar)
    return instruction.opcode not in _CHEAP


def is_product_with_vector(instruction: Instruction) -> bool:
    """Whether the instruction is a product whose result is a vector or a single number."""
    return instruction.opcode == "dot" and len(instruction.shape.dimensions) <= 1


def reused_operands(computation: Computation, instruction: Instruction) -> set[str]:
    """Operands with elements that several elements of the result may read."""
    return {name for k, name in enumerate(instruction.operands) if _reuses(computation, instruction, k)}


def _reuses(computation: Computation, instruction: Instruction, number: int) -> bool:
    """HloInstruction::ReusesOperandElements for the operand with this number."""
    if instruction.opcode in _READ_ONCE:
        return False
    if instruction.opcode == "pad":
        return number > 0
    if instruction.opcode == "reduce":
        return number >= len(instruction.operands) // 2
    if instruction.opcode == "dynamic-update-slice":
        return number > 1
    if is_product_with_vector(instruction):
        return len(computation.operands(instruction)[1 - number].shape.dimensions) > 1
    return not is_elementwise(computation, instruction)


def is_always_copied(computation: Computation, instruction: Instruction) -> bool:
    """IsAlwaysDuplicable: fusing the instruction reduces the bytes that are read."""
    if instruction.opcode == "convert":
        return computation.operands(instruction)[0].shape.bytes < instruction.shape.bytes
    return instruction.opcode == "broadcast"
