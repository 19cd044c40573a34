"""Straight code at random, in AT&T syntax: what a legal order may move, around the constructs that it must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

GENERAL = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{k}" for k in range(8, 16)))  # by their numbers
SCRATCH = ("rax", "rcx", "rdx", "r8", "r9", "r10", "r11")  # rdi is the address of the memory, rsi may be a pointer
CELLS = 64  # of 8 bytes behind rdi, which code may write
_SUFFIX = {8: "q", 4: "l", 2: "w", 1: "b"}


def part(register: str, size: int) -> str:
    """The name of the low bytes of a general register: part("rax", 4) is eax."""
    if register[1:].isdigit():
        return register + {8: "", 4: "d", 2: "w", 1: "b"}[size]
    stem = register[1:]
    if size == 8:
        return register
    if size == 4:
        return f"e{stem}"
    if size == 2:
        return stem
    return stem.replace("x", "l") if stem.endswith("x") else f"{stem}l"


class Draw(NamedTuple):
    """A random generator and the registers that code may use."""

    rng: np.random.Generator
    registers: Sequence[str] = SCRATCH

    def register(self, size: int = 8) -> str:
        return "%" + part(str(self.rng.choice(self.registers)), size)

    def vector(self, width: str = "x") -> str:
        return f"%{width}mm{self.rng.integers(0, 16)}"

    def number(self, low: int, high: int) -> int:
        """A number from low to high - 1."""
        return int(self.rng.integers(low, high))

    def pick(self, *choices: str) -> str:
        return str(choices[int(self.rng.integers(len(choices)))])

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def cell(self, size: int = 8) -> str:
        """A place in the memory behind rdi; places of different sizes overlap."""
        return f"{self.number(0, (CELLS * 8 - size) // 4) * 4}(%rdi)"


def _arithmetic(draw: Draw) -> list[str]:
    size = (8, 4, 4, 8, 2, 1)[draw.number(0, 6)]
    source = draw.pick(f"${draw.number(-100, 120)}", draw.register(size), draw.register(size))
    return [
        f"{draw.pick('add', 'sub', 'xor', 'and', 'or', 'mov', 'cmp')}{_SUFFIX[size]} {source}, {draw.register(size)}"
    ]


def _address(draw: Draw) -> list[str]:
    scale = (1, 2, 4, 8)[draw.number(0, 4)]
    return [f"leaq {draw.number(-90, 900)}({draw.register()},{draw.register()},{scale}), {draw.register()}"]


def _multiply(draw: Draw) -> list[str]:
    if draw.chance(0.2) and {"rax", "rdx"} <= set(draw.registers):
        return [f"{draw.pick('mul', 'imul')}q {draw.register()}"]
    return [f"imulq {_two(draw)}"]


def _two(draw: Draw) -> str:
    return f"{draw.register()}, {draw.register()}"


def _shift(draw: Draw) -> list[str]:
    size = (8, 4)[draw.number(0, 2)]
    name = draw.pick("shl", "shr", "sar", "rol", "ror", "bswap", "not", "neg", "inc", "dec")
    if name == "bswap":
        return [f"bswap {draw.register(size)}"]
    if name in ("not", "neg", "inc", "dec"):
        return [f"{name}{_SUFFIX[size]} {draw.register(size)}"]
    return [f"{name}{_SUFFIX[size]} ${draw.number(1, 31)}, {draw.register(size)}"]


def _load(draw: Draw) -> list[str]:
    size = (8, 4, 2, 1)[draw.number(0, 4)]
    if size < 4:
        return [f"mov{draw.pick('z', 's')}{_SUFFIX[size]}q {draw.cell(size)}, {draw.register()}"]
    return [f"{draw.pick('mov', 'add', 'xor', 'mov')}{_SUFFIX[size]} {draw.cell(size)}, {draw.register(size)}"]


def _store(draw: Draw) -> list[str]:
    size = (8, 4, 2, 1)[draw.number(0, 4)]
    source = draw.pick(f"${draw.number(-100, 120)}", draw.register(size))
    return [f"{draw.pick('mov', 'mov', 'mov', 'add', 'xor')}{_SUFFIX[size]} {source}, {draw.cell(size)}"]


def _indexed(draw: Draw) -> list[str]:
    index = str(draw.rng.choice(draw.registers))
    lines = [f"andl ${draw.number(1, CELLS)}, %{part(index, 4)}"]
    place = f"(%rdi,%{index},8)"
    return [*lines, f"movq {place}, {draw.register()}" if draw.chance(0.5) else f"addq {draw.register()}, {place}"]


def _flags(draw: Draw) -> list[str]:
    condition = draw.pick("e", "ne", "c", "nc", "s", "ns", "l", "ge", "a", "be", "o", "p")
    chain = {
        "carry": [f"addq {_two(draw)}", f"adcq {_two(draw)}", f"sbbq {_two(draw)}"],
        "select": [f"cmpq {_two(draw)}", f"cmov{condition}q {_two(draw)}", f"set{condition} {draw.register(1)}"],
        "bits": [f"btq ${draw.number(0, 64)}, {draw.register()}", f"adcl $0, {draw.register(4)}"],
        "carried": [draw.pick("stc", "clc", "cmc"), f"rclq $1, {draw.register()}"],
        "test": [f"testl {draw.register(4)}, {draw.register(4)}", f"set{condition} {draw.cell(1)}"],
    }
    return chain[draw.pick(*chain)]


def _vectors(draw: Draw) -> list[str]:
    a, b = draw.vector(), draw.vector()
    choices = (
        f"{draw.pick('paddq', 'pxor', 'pmuludq', 'psubd', 'punpcklqdq', 'pand')} {a}, {b}",
        f"{draw.pick('mulsd', 'addsd', 'subsd', 'mulpd', 'addpd', 'maxsd')} {a}, {b}",
        f"movdqu {draw.number(0, CELLS // 2 - 1) * 16}(%rdi), {a}",
        f"movdqu {a}, {draw.number(0, CELLS // 2 - 1) * 16}(%rdi)",
        f"cvtsi2sdq {draw.register()}, {a}",
        f"movq {draw.register()}, {a}",
        f"movq {a}, {draw.register()}",
        f"movsd {draw.cell()}, {a}",
        f"movsd {a}, {draw.cell()}",
        f"cvttsd2siq {a}, {draw.register()}",
    )
    return [choices[draw.number(0, len(choices))]]


def _red_zone(draw: Draw) -> list[str]:
    place = f"-{8 * draw.number(1, 16)}(%rsp)"
    return [f"movq {draw.register()}, {place}", f"{draw.pick('movq', 'addq')} {place}, {draw.register()}"]


_KINDS: tuple[tuple[Callable[[Draw], list[str]], int], ...] = (
    (_arithmetic, 8),
    (_address, 3),
    (_multiply, 2),
    (_shift, 3),
    (_load, 4),
    (_store, 4),
    (_indexed, 1),
    (_flags, 3),
    (_vectors, 3),
)
_WEIGHTS = np.array([weight for _, weight in _KINDS], float) / sum(weight for _, weight in _KINDS)


def straight(draw: Draw, count: int, red_zone: bool = False) -> list[str]:
    """Lines of about `count` instructions: general ones, flags, memory behind rdi, vectors; rdi and rsi stay."""
    lines: list[str] = []
    while len(lines) < count:
        kind = _red_zone if red_zone and draw.chance(0.2) else _KINDS[int(draw.rng.choice(len(_KINDS), p=_WEIGHTS))][0]
        lines += kind(draw)
    return lines
