"""XLA's fusion on CPUs, on XLA's own instructions: which operands the pass `fusion` of its CPU compiler fuses.

Our own implementation of the published rule (openxla/xla: CpuInstructionFusion on top of InstructionFusion, with
FusionNodeIndexingEvaluation; the state of jaxlib 0.10; described by Snider & Liang 2023, "Operator Fusion in XLA").
Readers are taken last to first. Each takes in the operands that it may, the last one first, and what these read, until
nothing is left that it may. An operand that others read as well is copied: it is dropped where nobody is left to read
it. Left out: control dependencies, and fusions that other passes made, which stay as they are.

Pure functions of HLO text: `fusions` decides, `read_fusions` tells from the text after the pass what XLA decided, and
`compare` puts both side by side for every instruction and each of its operands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

Answer = Literal["fused", "separate", "both"]  # both: in some of the reader's copies
Pair = tuple[str, str]  # names of an operand and its reader

_ELEMENTWISE = {
    *("abs", "acos", "acosh", "asin", "asinh", "atanh", "round-nearest-afz", "round-nearest-even", "ceil", "copy"),
    *("count-leading-zeros", "convert", "bitcast-convert", "cosine", "cosh", "erf", "exponential", "floor", "imag"),
    *("exponential-minus-one", "is-finite", "log", "log-plus-one", "not", "negate", "popcnt", "real", "rsqrt", "sign"),
    *("reduce-precision", "logistic", "sine", "sinh", "sqrt", "cbrt", "tan", "tanh"),
    *("add", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "power", "remainder", "and"),
    *("subtract", "or", "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical", "stochastic-convert"),
    *("select", "clamp", "constant", "map", "rng"),
}
_LOOPS = {  # not elementwise, and yet computed element by element
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
_READ_ONCE = {"bitcast", "concatenate", "reshape", "reverse", "slice", "transpose", "gather"}  # each element, at most
_EMITTED_ANEW = {"concatenate", "dot", "dynamic-update-slice", "pad", "reduce", "reduce-window"}  # at every use
_NEVER = {
    *("domain", "parameter", "while", "conditional", "call", "infeed", "outfeed", "send", "send-done", "recv"),
    *("recv-done", "rng-get-and-update-state"),
}
_PLUMBING = {"parameter", "tuple", "get-tuple-element"}  # compute nothing: no pair of them is compared
_CALLING = {"reduce", "reduce-window", "map", "scatter", "custom-call", "fusion"}  # what they call stays as it is

_MOST_CONCATENATED = 8  # operands
_MINOR_CONCATENATED = 128  # elements along the minor dimension, from which a concatenation stays alone
_MOST_REDUCTIONS = 5  # in a kernel that takes in one more
_MOST_PLACES = 15  # of the kernel's code that compute a fused operand
_SMALL_VECTOR = 16 * 1024  # bytes of the vector in a product whose matrix is computed on the way
_RESULT = -1  # in place of a copy's number: the kernel itself


@dataclass(frozen=True)
class Shape:
    """Of an array, or of a tuple."""

    element: str  # f32, s32, pred ...; "tuple" where it has parts
    dimensions: tuple[int, ...] = ()
    layout: tuple[int, ...] = ()  # numbers of dimensions, the minor one first
    parts: tuple[Shape, ...] = ()

    @property
    def elements(self) -> int:
        return sum(part.elements for part in self.parts) if self.parts else prod(self.dimensions)

    @property
    def bits(self) -> int:
        """Of an element."""
        digits = re.search(r"\d+", self.element)
        return int(digits[0]) if digits else 8

    @property
    def bytes(self) -> int:
        return -(-self.elements * self.bits // 8)

    @property
    def rank(self) -> int:
        """Dimensions that are longer than one; of a tuple the most of its parts."""
        return max((p.rank for p in self.parts), default=0) if self.parts else sum(d != 1 for d in self.dimensions)

    @property
    def is_scalar(self) -> bool:
        """One element, whatever its dimensions."""
        return not self.parts and self.rank == 0

    def is_laid_out_as(self, other: Shape) -> bool:
        """Whether all is the same but the type of the elements."""
        if len(self.parts) != len(other.parts):
            return False
        inner = zip(self.parts, other.parts, strict=True)
        same = (self.dimensions, self.layout) == (other.dimensions, other.layout)
        return same and all(part.is_laid_out_as(beside) for part, beside in inner)

    @property
    def is_complex(self) -> bool:
        return self.element.startswith("c")

    @property
    def is_integral(self) -> bool:
        return self.element[0] in "su"


@dataclass(frozen=True)
class Instruction:
    """One line of a computation."""

    name: str
    opcode: str
    shape: Shape
    operands: tuple[str, ...]
    literal: str  # a constant's value, a parameter's number
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Computation:
    """Instructions by name, operands before their readers: in XLA's post order, in which it prints them."""

    name: str
    instructions: Mapping[str, Instruction]
    root: str

    def operands(self, instruction: Instruction) -> list[Instruction]:
        return [self.instructions[name] for name in instruction.operands]


@dataclass(frozen=True)
class Module:
    """Computations by name."""

    computations: Mapping[str, Computation]
    entry: str


def parse(text: str) -> Module:
    """HLO text, as XLA prints it (names with or without %). Raises ValueError for what is not."""
    computations: dict[str, Computation] = {}
    entry, header = "", None
    instructions: dict[str, Instruction] = {}
    root = ""
    for line in re.sub(r"/\*index=\d+\*/", "", text).splitlines():
        if header is None:
            header = re.match(r"(ENTRY )?%?([\w.\-]+)( \(.*)? \{$", line)
            instructions, root = {}, ""
        elif line.strip().startswith("}"):
            name = header[2]
            computations[name] = Computation(name, instructions, root or next(reversed(instructions)))
            entry = name if header[1] else entry
            header = None
        elif line.strip():
            instruction = _instruction(line.strip().removeprefix("ROOT "))
            instructions[instruction.name] = instruction
            root = instruction.name if line.strip().startswith("ROOT ") else root
    if not entry:
        raise ValueError("no entry computation: is this the text of an HLO module?")
    return Module(computations, entry)


def _instruction(line: str) -> Instruction:
    match = re.match(r"%?([\w.\-]+) = (.*)", line)
    if match is None:
        raise ValueError(f"no HLO instruction: {line!r}")
    name, rest = match[1], match[2]
    end = _closing(rest) + 1 if rest.startswith("(") else rest.index(" ")
    shape, rest = rest[:end], rest[end:].lstrip()
    begin = rest.index("(")
    opcode, rest = rest[:begin], rest[begin:]
    end = _closing(rest)
    inside, named = rest[1:end], _split(rest[end + 1 :].removeprefix(","))
    attributes = dict(part.split("=", 1) for part in named if "=" in part)
    operands = () if opcode in ("constant", "parameter") else _split(inside)
    names = tuple(operand.split()[-1].removeprefix("%") for operand in operands)
    return Instruction(name, opcode, _shape(shape), names, "" if operands else inside, attributes)


def _shape(text: str) -> Shape:
    if text.startswith("("):
        return Shape("tuple", parts=tuple(map(_shape, _split(text[1:-1]))))
    match = re.match(r"(\w+)\[([^\]]*)\](?:\{([\d,]*))?", text)
    if match is None:
        raise ValueError(f"no HLO shape: {text!r}")
    dimensions = tuple(int(size.strip("<= ")) for size in match[2].split(",") if size)
    major_first = tuple(reversed(range(len(dimensions))))
    return Shape(match[1], dimensions, tuple(map(int, match[3].split(","))) if match[3] else major_first)


def _closing(text: str) -> int:
    """Where the bracket that the text begins with is closed."""
    depth = 0
    for at, sign in _unquoted(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0:
            return at
    raise ValueError(f"a bracket is not closed: {text!r}")


def _split(text: str) -> list[str]:
    """Parts between the commas that are in no bracket and no quotation."""
    ends, depth = [-1], 0
    for at, sign in _unquoted(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            ends.append(at)
    parts = (text[begin + 1 : end].strip() for begin, end in zip(ends, [*ends[1:], len(text)], strict=True))
    return [part for part in parts if part]


def _unquoted(text: str) -> Iterator[tuple[int, str]]:
    quoted = escaped = False
    for at, sign in enumerate(text):
        if sign == '"' and not escaped:
            quoted = not quoted
        elif not quoted:
            yield at, sign
        escaped = sign == "\\" and not escaped


def is_elementwise(computation: Computation, instruction: Instruction) -> bool:
    """HloInstruction::IsElementwise."""
    if instruction.opcode == "bitcast-convert":
        return instruction.shape.bits == computation.operands(instruction)[0].shape.bits
    return instruction.opcode in _ELEMENTWISE


def is_loop(computation: Computation, instruction: Instruction) -> bool:
    """CanBeLoopFused: the CPU compiler can compute it element by element within another loop."""
    return instruction.opcode in _LOOPS or is_elementwise(computation, instruction)


def is_expensive(computation: Computation, instruction: Instruction) -> bool:
    """CpuInstructionFusion::IsExpensive: not to be computed twice."""
    if instruction.opcode in _CHEAP_WHERE_REAL:
        return instruction.shape.is_complex
    if instruction.opcode == "convert":  # rounding to bfloat16 looks for NaN
        return (computation.operands(instruction)[0].shape.element, instruction.shape.element) == ("f32", "bf16")
    if instruction.opcode in ("divide", "remainder") and instruction.shape.is_integral:
        divided = computation.operands(instruction)[0]  # as published: the first operand, though the divisor is meant
        if divided.opcode == "broadcast":
            divided = computation.operands(divided)[0]
        return not (divided.opcode == "constant" and divided.shape.is_scalar)
    return instruction.opcode not in _CHEAP


def _reuses(computation: Computation, instruction: Instruction, number: int) -> bool:
    """HloInstruction::ReusesOperandElements: an element of the operand may be read for several of the result's."""
    if instruction.opcode in _READ_ONCE:
        return False
    if instruction.opcode == "pad":
        return number > 0
    if instruction.opcode == "reduce":
        return number >= len(instruction.operands) // 2
    if instruction.opcode == "dynamic-update-slice":
        return number > 1
    if instruction.opcode == "dot" and len(instruction.shape.dimensions) <= 1:
        return len(computation.operands(instruction)[1 - number].shape.dimensions) > 1
    return not is_elementwise(computation, instruction)


def _always_copied(computation: Computation, instruction: Instruction) -> bool:
    """IsAlwaysDuplicable: fewer bytes are read where it is fused."""
    if instruction.opcode == "convert":
        return computation.operands(instruction)[0].shape.bytes < instruction.shape.bytes
    return instruction.opcode == "broadcast"


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


def fusions(computation: Computation) -> Fusions:
    """What the pass makes of a computation (InstructionFusion::Run)."""
    state = _separate(computation)
    position = {name: number for number, name in enumerate(computation.instructions)}
    kept = _not_copied(state)
    for reader in reversed(position):
        if reader not in state.kernels or not _may_be_fused(state, reader):
            continue
        kernel, pending = state.kernels[reader], True
        while pending:
            pending = False
            for operand in sorted(kernel.outside, key=lambda name: -position[name]):
                why = _asked(state, reader, operand, kept)
                if not why:
                    _fuse(state, reader, operand)
                    pending = True
                    break
                for copy, reads in zip(kernel.copies, kernel.reads, strict=True):
                    if operand in reads:
                        state.refusals[operand, copy.name] = why
    return state


def _separate(computation: Computation) -> Fusions:
    state = Fusions(computation, {}, {name: set() for name in computation.instructions})
    for name, instruction in computation.instructions.items():
        reused = {o for k, o in enumerate(instruction.operands) if _reuses(computation, instruction, k)}
        kernel = Kernel([instruction], [list(instruction.operands)], reused, {_RESULT: 1}, {})
        _place(computation, kernel, 0, {_RESULT})
        state.kernels[name] = kernel
        for operand in instruction.operands:
            state.readers[operand].add(name)
    return state


def _may_be_fused(state: Fusions, name: str) -> bool:
    """HloInstruction::IsFusible; a fusion that another pass made stays as it is."""
    instruction = state.instruction(name)
    if instruction.opcode == "rng" and len(state.readers[name]) > 1:
        return False
    has_effect = instruction.attributes.get("custom_call_has_side_effect") == "true"
    return instruction.opcode not in _NEVER | {"fusion"} and not has_effect


def _asked(state: Fusions, reader: str, operand: str, kept: set[str]) -> str:
    if not _may_be_fused(state, operand):
        return "cannot be fused"
    return "copies would read more" if operand in kept else refusal(state, reader, operand)


def _not_copied(state: Fusions) -> set[str]:
    """InstructionFusion::ComputeGloballyUnfusible: several large operands, not fused into all readers on all paths."""
    computation = state.computation
    kept: set[str] = set()
    reached: dict[str, set[str]] = {}  # an instruction, and all that it needs
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
                on_a_path <= fused - kept
                and _may_be_fused(state, reader)
                and not any(refusal(state, reader, operand) for operand in on_a_path)
            ):
                fused.add(reader)
        if not fused or not state.readers[producer.name] <= fused:
            kept.add(producer.name)
    return kept


def _is_small(instruction: Instruction) -> bool:
    if instruction.opcode == "constant":
        return instruction.shape.is_scalar
    return instruction.opcode in ("broadcast", "iota")


def _fuse(state: Fusions, reader: str, operand: str) -> None:
    """Copy an operand into a kernel; drop it where nobody reads it any more."""
    computation, kernel = state.computation, state.kernels[reader]
    copied, number = state.instruction(operand), len(kernel.copies)
    kernel.is_output = not kernel.is_fusion and _ends_in_addition(state, operand, kernel.copies[0])
    if operand in kernel.reused:
        kernel.reused = (kernel.reused - {operand}) | set(copied.operands)
    else:
        kernel.reused |= {o for k, o in enumerate(copied.operands) if _reuses(computation, copied, k)}
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
    kernel.places[number] = sum(kernel.places[user] for user in users)
    for operand in computation.operands(copy):
        asking = users if copy.opcode == "transpose" or operand.shape.is_laid_out_as(copy.shape) else {number}
        kernel.asked_by[operand.name] = kernel.asked_by.get(operand.name, set()) | asking


def refusal(state: Fusions, reader: str, operand: str) -> str:
    """Why a kernel does not take in an operand; empty where it does (CpuInstructionFusion::ShouldFuse)."""
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
    if copied and is_expensive(computation, producer) and not _always_copied(computation, producer):
        return "expensive and read by others"
    if why := _overwritten(state, kernel, producer):
        return why
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
    """CanBeOutputFused: a product with a vector is computed by the addition that alone reads it."""
    product = state.instruction(operand)
    return (
        consumer.opcode == "add"
        and product.opcode == "dot"
        and len(product.shape.dimensions) <= 1
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
    """Whether a product with a small vector computes its matrix on the way."""
    if consumer.opcode != "dot" or len(consumer.shape.dimensions) > 1:
        return False
    vectors = [o.name for o in computation.operands(consumer) if len(o.shape.dimensions) == 1]
    small = [name for name in vectors if computation.instructions[name].shape.bytes < _SMALL_VECTOR]
    return any(
        name in small for number, name in enumerate(consumer.operands) if consumer.operands[1 - number] == operand
    )


def _too_much_code(state: Fusions, kernel: Kernel, producer: Instruction) -> bool:
    """FusionNodeIndexingEvaluation::CodeDuplicationTooHigh."""
    if producer.opcode == "broadcast":
        return False
    places = sum(kernel.places[user] for user in kernel.asked_by[producer.name])
    if places > _MOST_PLACES or producer.opcode not in _EMITTED_ANEW:
        return places > _MOST_PLACES
    reading = (state.kernels[name].reads for name in state.readers[producer.name])
    return places > 1 or sum(producer.name in reads for copies in reading for reads in copies) > 1


def _overwritten(state: Fusions, kernel: Kernel, producer: Instruction) -> str:
    """ShouldFuseInPlaceOp: a result that overwrites what it updates must not be read at other positions meanwhile."""
    computation, update = state.computation, kernel.copies[0]
    if update.opcode != "dynamic-update-slice":
        return ""
    updated, *others = kernel.reads[0]
    if isinstance(updated, int) and kernel.copies[updated].opcode == "bitcast":
        updated = kernel.reads[updated][0]  # the same memory
    if isinstance(updated, int):
        return ""
    if not kernel.is_fusion and updated in others:
        return "is read where it is overwritten"
    if updated not in (producer.name, *producer.operands):
        return ""
    moving = [number for number, copy in enumerate(kernel.copies) if number and not is_elementwise(computation, copy)]
    depending = kernel.depending(producer.name)
    if producer.opcode == "bitcast" or is_elementwise(computation, producer):
        moved = any(kernel.copies[number].opcode != "bitcast" for number in depending.intersection(moving))
        return "is read elsewhere while it is overwritten" if moved else ""
    if any(copy.opcode == "dynamic-update-slice" for copy in kernel.copies[1:]):
        return "several updates"
    if not _is_same_slice(state, kernel, producer):
        return "reads other positions than are overwritten"
    return "is read elsewhere while it is overwritten" if depending.intersection(moving) else ""


def _is_same_slice(state: Fusions, kernel: Kernel, producer: Instruction) -> bool:
    """Whether a slice is of the very positions that the kernel updates; what computes them is asked for later."""
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
    """The value of a constant, or the name of what is none."""
    instruction = state.instruction(name)
    number = re.search(r"-?\d+", instruction.literal)
    return int(number[0]) if instruction.opcode == "constant" and number else name


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
            parameter = computation.instructions[operand]
            is_read = bool(fusion) and parameter.opcode == "parameter"
            said[source, original].add(bool(fusion) and not is_read)
            if is_read:
                pending.append(("", outer.instructions[fusion].operands[int(parameter.literal)], source))
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
    for (operand, reader), xla in read_fusions(computation, after).items():
        ends = state.instruction(operand), state.instruction(reader)
        if not {end.opcode for end in ends} & _PLUMBING:
            why = "" if ours[operand, reader] == "fused" else state.refusals.get((operand, reader), "")
            yield Compared(computation, *ends, ours[operand, reader], xla, why)
