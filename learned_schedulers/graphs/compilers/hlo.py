"""HLO text as XLA prints it: modules, their computations, and their instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod


@dataclass(frozen=True)
class Shape:
    """Shape of an array or a tuple."""

    element: str  # f32, s32, pred ...; "tuple" if it has parts
    dimensions: tuple[int, ...] = ()
    layout: tuple[int, ...] = ()  # numbers of dimensions, from minor to major
    parts: tuple[Shape, ...] = ()

    @property
    def elements(self) -> int:
        return sum(part.elements for part in self.parts) if self.parts else prod(self.dimensions)

    @property
    def bits(self) -> int:
        """Bits of an element."""
        digits = re.search(r"\d+", self.element)
        return int(digits[0]) if digits else 8

    @property
    def bytes(self) -> int:
        return -(-self.elements * self.bits // 8)

    @property
    def rank(self) -> int:
        """Number of dimensions longer than one; of a tuple, the maximum over its parts."""
        return max((p.rank for p in self.parts), default=0) if self.parts else sum(d != 1 for d in self.dimensions)

    @property
    def is_scalar(self) -> bool:
        """Whether it has one element, in any number of dimensions."""
        return not self.parts and self.rank == 0

    def is_laid_out_as(self, shape: Shape) -> bool:
        """Whether both shapes are equal apart from the type of their elements."""
        if len(self.parts) != len(shape.parts):
            return False
        pairs = zip(self.parts, shape.parts, strict=True)
        same = (self.dimensions, self.layout) == (shape.dimensions, shape.layout)
        return same and all(part.is_laid_out_as(counterpart) for part, counterpart in pairs)

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
    literal: str  # the value of a constant, or the number of a parameter
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Computation:
    """Instructions by name in XLA's post order, in which it prints them: operands come before their readers."""

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
    """The module of an HLO text as XLA prints it, with or without % in names. Raises ValueError for any other text."""
    computations: dict[str, Computation] = {}
    entry, header = "", None
    instructions: dict[str, Instruction] = {}
    root = ""
    for line in re.sub(r"/\*index=\d+\*/", "", text).splitlines():
        stripped = line.strip()
        if header is None:
            header = re.match(r"(ENTRY )?%?([\w.\-]+)( \(.*)? \{$", line)
            instructions, root = {}, ""
        elif stripped.startswith("}"):
            name = header[2]
            computations[name] = Computation(name, instructions, root or next(reversed(instructions)))
            entry = name if header[1] else entry
            header = None
        elif stripped:
            instruction = _instruction(stripped.removeprefix("ROOT "))
            instructions[instruction.name] = instruction
            root = instruction.name if stripped.startswith("ROOT ") else root
    if not entry:
        raise ValueError("the text has no entry computation; give the text of an HLO module")
    return Module(computations, entry)


def _instruction(line: str) -> Instruction:
    match = re.match(r"%?([\w.\-]+) = (.*)", line)
    if match is None:
        raise ValueError(f"this line is not an HLO instruction: {line!r}")
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
        raise ValueError(f"this is not an HLO shape: {text!r}")
    dimensions = tuple(int(size.strip("<= ")) for size in match[2].split(",") if size)
    major_first = tuple(reversed(range(len(dimensions))))
    return Shape(match[1], dimensions, tuple(map(int, match[3].split(","))) if match[3] else major_first)


def _closing(text: str) -> int:
    """Index of the bracket that closes the first bracket of the text."""
    for index, _, depth in _unquoted(text):
        if depth == 0:
            return index
    raise ValueError(f"a bracket is not closed: {text!r}")


def _split(text: str) -> list[str]:
    """Parts between the commas outside brackets and quotations."""
    commas = (index for index, sign, depth in _unquoted(text) if sign == "," and depth == 0)
    parts = (text[begin + 1 : end].strip() for begin, end in pairwise([-1, *commas, len(text)]))
    return [part for part in parts if part]


def _unquoted(text: str) -> Iterator[tuple[int, str, int]]:
    """Signs outside quotations: the index of each, the sign, and the number of open brackets after it."""
    quoted = escaped = False
    depth = 0
    for index, sign in enumerate(text):
        if sign == '"' and not escaped:
            quoted = not quoted
        elif not quoted:
            depth += (sign in "([{") - (sign in ")]}")
            yield index, sign, depth
        escaped = sign == "\\" and not escaped
