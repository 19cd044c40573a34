"""Random straight-line functions of LLVM's code, of five shapes, for training and development."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.before_allocation import table
from learned_schedulers.blocks.before_allocation.functions import functions as read_functions

_TRIPLE = 'target triple = "x86_64-pc-linux-gnu"'
_ATTRIBUTES = (
    'attributes #0 = { nounwind "target-cpu"="haswell" }',
    "attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }",
)
_TABLE = 64  # entries of a constant table


class Generated(NamedTuple):
    """A function of a shape."""

    name: str
    shape: str
    text: str


class _Body:
    """Instructions in the sequence in which they are written; all numbers are of one type."""

    def __init__(self, of_doubles: bool, rng: np.random.Generator) -> None:
        self.doubles, self.rng = of_doubles, rng
        self.type = "double" if of_doubles else "i64"
        self.lines: list[str] = []
        self._count = 0

    def value(self, instruction: str) -> str:
        """The name of an instruction's result."""
        self._count += 1
        self.lines.append(f"  %v{self._count} = {instruction}")
        return f"%v{self._count}"

    def load(self, pointer: str, index: int | str) -> str:
        address = self.value(f"getelementptr inbounds {self.type}, ptr {pointer}, i64 {index}")
        return self.value(f"load {self.type}, ptr {address}, align 8")

    def store(self, value: str, index: int) -> None:
        address = self.value(f"getelementptr inbounds {self.type}, ptr %to, i64 {index}")
        self.lines.append(f"  store {self.type} {value}, ptr {address}, align 8")

    def add(self, first: str, second: str) -> str:
        return self.value(f"{'fadd' if self.doubles else 'add'} {self.type} {first}, {second}")

    def subtract(self, first: str, second: str) -> str:
        return self.value(f"{'fsub' if self.doubles else 'sub'} {self.type} {first}, {second}")

    def multiply(self, first: str, second: str) -> str:
        return self.value(f"{'fmul' if self.doubles else 'mul'} {self.type} {first}, {second}")

    def constant(self) -> str:
        """A number of about one, or an odd number of 32 bits."""
        if self.doubles:
            return f"{int(self.rng.integers(32, 97)) / 64:e}"
        return str(2 * int(self.rng.integers(2**31)) + 1)

    def mixed(self, first: str, second: str) -> str:
        """A random operation of two values."""
        operations: list[Callable[[], str]] = [
            lambda: self.add(first, second),
            lambda: self.subtract(first, second),
            lambda: self.multiply(first, second),
        ]
        if self.doubles:
            factors = f"double {first}, double {self.constant()}, double {second}"
            operations.append(lambda: self.value(f"call double @llvm.fma.f64({factors})"))
        else:
            turn = int(self.rng.integers(1, 64))
            operations.append(lambda: self.value(f"xor i64 {first}, {second}"))
            operations.append(
                lambda: self.add(second, self.value(f"call i64 @llvm.fshl.i64(i64 {first}, i64 {first}, i64 {turn})"))
            )
        return operations[int(self.rng.integers(len(operations)))]()


def _sum(body: _Body) -> None:
    """Products of two arrays, added in a random tree."""
    pool = [
        body.multiply(body.load("%from", i), body.load("%with", i) if body.rng.random() < 0.7 else body.constant())
        for i in range(int(body.rng.integers(8, 120)))
    ]
    while len(pool) > 1:
        i, k = sorted(int(i) for i in body.rng.choice(len(pool), 2, replace=False))
        second, first = pool.pop(k), pool.pop(i)
        pool.append(body.add(first, second))
    body.store(pool[0], 0)


def _chains(body: _Body) -> None:
    """Chains of random operations with values loaded where they are used, written in turns of random length."""
    states = [body.load("%from", i) for i in range(int(body.rng.integers(2, 24)))]
    for step in range(int(body.rng.integers(16, 300))):
        i, k = (int(body.rng.integers(len(states))) for _ in range(2))
        other = states[k] if body.rng.random() < 0.6 and i != k else body.load("%with", step)
        states[i] = body.mixed(states[i], other)
    for i, state in enumerate(states):
        body.store(state, i)


def _butterflies(body: _Body) -> None:
    """Levels of sums and differences at growing distances, with factors on some."""
    levels = int(body.rng.integers(3, 6))
    values = [body.load("%from", i) for i in range(2**levels)]
    density = float(body.rng.random())
    for level in range(levels):
        for i in range(len(values)):
            k = i ^ (1 << level)
            if i < k:
                second = values[k]
                if body.rng.random() < density:
                    second = body.multiply(second, body.constant())
                values[i], values[k] = body.add(values[i], second), body.subtract(values[i], second)
    for i, value in enumerate(values):
        body.store(value, i)


def _matrices(body: _Body) -> None:
    """A product of two small matrices, and a bias; all is loaded first, or each element where it is used."""
    rows, inner, columns = (int(size) for size in body.rng.integers(2, 7, 3))
    first = body.rng.random() < 0.5
    loaded: dict[tuple[str, int], str] = {}

    def element(pointer: str, index: int) -> str:
        if (pointer, index) not in loaded:
            loaded[pointer, index] = body.load(pointer, index)
        return loaded[pointer, index]

    if first:
        for pointer, size in (("%from", rows * inner), ("%with", inner * columns)):
            for index in range(size):
                element(pointer, index)
    for i in range(rows):
        for k in range(columns):
            total = body.constant()
            for j in range(inner):
                product = body.multiply(element("%from", i * inner + j), element("%with", j * columns + k))
                total = body.add(product, total)
            body.store(total, i * columns + k)


def _lookups(body: _Body) -> None:
    """Rounds that mix entries of a constant table; bytes of 64-bit words choose the entries."""
    words = []
    for i in range(int(body.rng.integers(2, 6))):
        address = body.value(f"getelementptr inbounds i64, ptr %with, i64 {i}")
        words.append(body.value(f"load i64, ptr {address}, align 8"))
    states = [body.load("%from", i) for i in range(len(words))]
    for _ in range(int(body.rng.integers(1, 9))):
        for i, word in enumerate(words):
            state = states[i]
            for shift in body.rng.choice(58, int(body.rng.integers(1, 5)), replace=False).tolist():
                index = body.value(f"and i64 {body.value(f'lshr i64 {word}, {shift}')}, {_TABLE - 1}")
                state = body.mixed(state, body.load("@table", index))
            states[i] = state
            words[i] = body.value(f"xor i64 {word}, {words[(i + 1) % len(words)]}")
    for i, state in enumerate(states):
        body.store(state, i)


SHAPES: dict[str, Callable[[_Body], None]] = {
    "sum": _sum,
    "chains": _chains,
    "butterflies": _butterflies,
    "matrices": _matrices,
    "lookups": _lookups,
}
_LEAST, _MOST = 30, 2000


def functions(prefix: str, count: int, rng: np.random.Generator) -> list[Generated]:
    """`count` functions, the shapes and types (doubles, 64-bit integers) in turn; the same generator gives the same."""
    answer: list[Generated] = []
    while len(answer) < count:
        shape = list(SHAPES)[len(answer) % len(SHAPES)]
        of_doubles = len(answer) // len(SHAPES) % 2 == 0
        body = _Body(of_doubles, rng)
        SHAPES[shape](body)
        if _LEAST <= len(body.lines) <= _MOST:
            name = f"generated.{prefix}.{shape}_{len(answer)}"
            answer.append(Generated(name, shape, _module(body, f"{shape}_{len(answer)}")))
    return answer


def entry(function: Generated, kind: str) -> table.Entry:
    """The row of a function in a set."""
    (alone,) = read_functions(function.text)
    size = len(alone.blocks[0].items)
    return table.Entry(
        name=function.name,
        set=kind,
        kind="generated",
        project="generated",
        version="",
        file=function.shape,
        function=alone.name,
        signature="void(ptr,ptr,ptr)",
        block_instructions=size,
        instructions=size,
        sha256=table.digest(function.text),
    )


def _module(body: _Body, name: str) -> str:
    apart = "noalias " if body.rng.random() < 0.5 else ""
    code = "\n".join(body.lines)
    parts = [_TRIPLE]
    if "@table" in code:
        entries = ", ".join(f"{body.type} {body.constant()}" for _ in range(_TABLE))
        parts.append(f"@table = private constant [{_TABLE} x {body.type}] [{entries}], align 16")
    parts += [f"define void @{name}(ptr %from, ptr %with, ptr {apart}%to) #0 {{", code, "  ret void", "}"]
    intrinsics = {"fma.f64": "double, double, double", "fshl.i64": "i64, i64, i64"}
    for intrinsic, types in intrinsics.items():
        if f"@llvm.{intrinsic}(" in code:
            parts.append(f"declare {types.split(',')[0]} @llvm.{intrinsic}({types}) #1")
    return "\n".join([*parts, *_ATTRIBUTES, ""])
