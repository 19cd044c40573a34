"""Pieces of machine code that call a function: with arguments by its signature, and with what it leaves made equal.

By the System V calling convention. What a function leaves behind beside its result and memory, as values in registers
and on the stack below its frame, depends on the order of its instructions, and says nothing about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np

from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.run.machine_code import assemble

_INTEGERS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
_VECTORS = 8  # registers for floating arguments
_KEPT_ON_STACK = 1 << 14  # bytes below the stack pointer that are cleared behind a call
_CALL, _JUMP, _JUMP_BYTES, _ALIGNED = b"\xe8", b"\xe9", 5, 64
_HEAD = re.compile(r'^define (.*?) ?@(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)\((.*)$')
_FLOATING = re.compile(r"(half|float|double|<\d+ x \w+>)$")
_RESULTS = re.compile(r"(void|ptr|i(1|8|16|32|64|128)|float|double|<\d+ x \w+>)$")
_ARGUMENTS = re.compile(r"(ptr|i(1|8|16|32|64)|float|double|<\d+ x \w+>)$")


class NotCallable(ValueError):
    """The signature has types that this caller does not pass."""


class Signature(NamedTuple):
    """Types of a function, in LLVM's words."""

    result: str
    arguments: tuple[str, ...]


def signature(head: str) -> Signature:
    """The signature of a function by its first line. Raises NotCallable."""
    matched = _HEAD.match(head)
    assert matched, "the first line of a function"
    before, rest = matched[1], matched[2]
    result = _type(before)
    depth, parts = 0, [""]
    for character in rest:
        if character == ")" and not depth:
            break
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    arguments = tuple(_type(part.strip(), first=True) for part in parts if part.strip())
    for kind, passed, texts in (("argument", _ARGUMENTS, parts), ("result", _RESULTS, [before])):
        for text, name in zip(texts, arguments if kind == "argument" else (result,), strict=False):
            if not passed.match(name) or re.search(r"\b(byval|inalloca|nest|swift\w+)\b", text):
                raise NotCallable(f"an {kind} of type {name}")
    return Signature(result, arguments)


def _type(text: str, first: bool = False) -> str:
    """The type in a text that begins (first) or ends with it."""
    types = re.findall(r"<\d+ x \w+>|[{\[].*[}\]]|%[\w.]+\*?|\w+\**|\.\.\.", text)
    return str(types[0 if first else -1]) if types else text


class Values(NamedTuple):
    """Arguments: numbers of 64 bits, whose meaning is that of the type."""

    bits: tuple[int, ...]


def drawn(of: Signature, rng: np.random.Generator, integers: tuple[int, int] = (1, 5)) -> Values:
    """Arguments for a call: pointers far apart, integers of this range, floating numbers from 1 to 2."""
    bits: list[int] = []
    for kind in of.arguments:
        if kind == "ptr":
            bits.append(int(rng.integers(1 << 37, 1 << 39)) & ~63)
        elif _FLOATING.match(kind):
            single = int(np.float32(1 + rng.random()).view(np.uint32))
            double = int(np.float64(1 + rng.random()).view(np.uint64))
            bits.append(double if "double" in kind else single << 32 | single)
        else:
            bits.append(int(rng.integers(*integers)))
    return Values(tuple(bits))


def calling(
    function: Image, of: Signature, values: Values, displacement: int = 0, clean: bool = False
) -> Callable[[int], bytes]:
    """A body (run/timed_code.py): code for an address, which calls the function once and goes on behind it.

    displacement: of the function behind a multiple of 64 bytes, a multiple of 16. clean: make equal what does not
    matter: registers that a call may change, and the stack below.
    """
    before, after = _stub(of, values.bits, clean)

    def body(address: int) -> bytes:
        reached = address + len(before) + _JUMP_BYTES + len(after) + _JUMP_BYTES
        start = -(-reached // _ALIGNED) * _ALIGNED
        code, entry = function.at(start, displacement)
        called = address + len(before) + _JUMP_BYTES
        parts = (
            *(before, _CALL, (entry - called).to_bytes(4, "little", signed=True), after),
            *(_JUMP, (start + len(code) - reached).to_bytes(4, "little"), bytes(start - reached), code),
        )
        return b"".join(parts)

    return body


@cache
def _stub(of: Signature, bits: tuple[int, ...], clean: bool) -> tuple[bytes, bytes]:
    """Code before and after a call."""
    integers, vectors, stack = list(_INTEGERS), list(range(_VECTORS)), []
    lines: list[str] = []
    for kind, number in zip(of.arguments, bits, strict=True):
        if _FLOATING.match(kind) and vectors:
            lines += [f"movabs ${number:#x}, %rax", *_spread(kind, vectors.pop(0))]
        elif not _FLOATING.match(kind) and integers:
            lines.append(f"movabs ${number:#x}, %{integers.pop(0)}")
        else:
            stack.append(number)
    pushed = [line for number in reversed(stack) for line in (f"movabs ${number:#x}, %rax", "push %rax")]
    odd = ["sub $8, %rsp"] if len(stack) % 2 else []
    back = 8 * (len(stack) + len(odd))
    after = [f"add ${back}, %rsp"] if back else []
    cleaned = _cleaned(of.result) if clean else []
    return assemble("\n".join([*odd, *pushed, *lines, "nop"])).code, assemble("\n".join([*after, *cleaned, "nop"])).code


def _spread(kind: str, register: int) -> Sequence[str]:
    """Move rax to every lane of a vector register."""
    if not kind.startswith("<"):
        return (f"movq %rax, %xmm{register}",)
    return (f"vmovq %rax, %xmm{register}", f"vpbroadcastq %xmm{register}, %ymm{register}")


def _cleaned(result: str) -> list[str]:
    """Keep the result in rax and rdx, or in xmm0, and clear the rest.

    What is not a number becomes one of its forms: LLVM leaves its sign and payload open.
    """
    lines = ["cld"]
    width = int(result[1:]) if result.startswith("i") else 64 if result == "ptr" else 0
    if width < 128:
        lines.append("xor %edx, %edx")
    if width == 0:
        lines.append("xor %eax, %eax")
    if width in (1, 8):
        lines.append(f"and ${(1 << width) - 1}, %eax")
    if width == 16:
        lines.append("movzwl %ax, %eax")
    if width == 32:
        lines.append("mov %eax, %eax")
    lines += ["mov %rax, %r8", "mov %rdx, %r9"]
    if result == "float":
        lines += ["movd %xmm0, %r8d", "mov $0x7fc00000, %ecx", "ucomiss %xmm0, %xmm0", "cmovp %ecx, %r8d"]
    if result == "double":
        lines += ["movq %xmm0, %r8", f"movabs ${0x7FF8 << 48:#x}, %rcx", "ucomisd %xmm0, %xmm0", "cmovp %rcx, %r8"]
    if result.startswith("<"):
        lines += ["movdqu %xmm0, -16(%rsp)", "mov -16(%rsp), %r8", "mov -8(%rsp), %r9"]
    lines += [f"lea -{_KEPT_ON_STACK}(%rsp), %rdi", f"mov ${_KEPT_ON_STACK // 8}, %ecx", "xor %eax, %eax", "rep stosq"]
    lines += ["xor %esi, %esi", "xor %edi, %edi", "xor %r10d, %r10d", "xor %r11d, %r11d"]
    lines += ["push $0x1F80", "ldmxcsr (%rsp)", "pop %rcx", *_cleared_vectors()]
    return [*lines, "xor %ecx, %ecx"]  # sets the flags, too


def _cleared_vectors() -> list[str]:
    features = llvm.get_host_cpu_features()
    if not features.get("avx"):
        return [f"pxor %xmm{number}, %xmm{number}" for number in range(16)]
    upper = [f"vpxorq %zmm{number}, %zmm{number}, %zmm{number}" for number in range(16, 32)]
    masks = [f"kxorw %k{number}, %k{number}, %k{number}" for number in range(8)]
    return ["vzeroall", *(upper + masks if features.get("avx512f") else [])]
