"""Calls of compiled forms of one function in a confined process: what they leave, and their cycles.

By the System V calling convention. What a function leaves behind beside its result and memory, as values in registers
and on the stack below its frame, depends on the order of its instructions, and says nothing about it: it is made equal.
Compared are the result, and every byte of memory that any form touches, but for the stack below the caller. Timed forms
are called back to back in rounds. The same code differs by some percent by where it lies, so every form lies at several
displacements, the same ones for all, and its cycles are the mean over these of the least of its trials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np

from learned_schedulers.blocks.before_allocation.image import Image
from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.native import Native
from learned_schedulers.blocks.run.oracle import Task, TimedTask
from learned_schedulers.blocks.run.states import DOUBLES, FLOATS, POINTERS, RANDOM, SMALL, Masks, State
from learned_schedulers.blocks.run.timed_code import CLOCK_CYCLES, clock, timed

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


HOME = 0x8_0000_0000  # where the code lies
_MXCSR = 0x9FC0  # all exceptions masked, denormals treated as zero, because they take hundreds of cycles
# Rules for the content of memory. Doubles and floats are normal; pointers, and numbers small enough for indices. In a
# mixed rule each word is of one kind or the other, by the seed: a structure is filled well by some seeds.
CONTENTS: tuple[Masks, ...] = (RANDOM + RANDOM, DOUBLES + DOUBLES, FLOATS + FLOATS, SMALL + SMALL)
MIXED: tuple[Masks, ...] = (POINTERS + SMALL, POINTERS + DOUBLES)


class Executions(NamedTuple):
    """The runs from some states."""

    ran: int  # states from which the first form reached its end, and the references left the same
    undefined: int  # states from which it did, and they did not
    different: int  # comparisons of a further form that differ, or fault
    equal: int  # comparisons that do not
    reason: str  # of the first state from which the first form did not run, or of the first difference


def state(contents: Masks, rng: np.random.Generator) -> State:
    """A state at the begin of a call; arguments are set by the piece that calls."""
    return State(
        registers=tuple(int(rng.integers(1 << 37, 1 << 39)) & ~63 for _ in range(16)),
        flags=0x202,
        seed=int(rng.integers(1 << 63)),
        masks=contents,
        vectors=bytes(2048),
        opmasks=bytes(64),
        x87=bytes(128),
        x87_tags=0,
        x87_status=0,
        mxcsr=_MXCSR,
    )


def execute(
    native: Native,
    forms: Sequence[Image],
    of: Signature,
    values: Values,
    contents: Sequence[Masks],
    states: int,
    rng: np.random.Generator,
    seconds: float = 10.0,
    references: int = 0,
) -> Executions:
    """Run forms of a function from `states` states, which take `contents` in turn, with the same arguments.

    references: how many forms behind the first one are the compiler's own. Drawn arguments may let a function read
    outside of an array, or give a NaN, whose bits LLVM leaves open: what it leaves then depends on where code,
    constants and the frame lie. A state from which the references differ says nothing about the other forms.
    """
    bodies = [calling(form, of, values, clean=True) for form in forms]
    slot = layout.slot_bytes(max(len(body(HOME)) for body in bodies) + 64)
    slot = -(-slot // 64) * 64
    # All pieces get equal lengths, so that the worker's slots begin at multiples of 64.
    length = slot - len(layout.JUMP) - 8
    pieces = [body(HOME + number * slot) for number, body in enumerate(bodies)]
    padded = [piece + b"\x90" * (length - len(piece)) for piece in pieces]
    drawn_states = [state(contents[number % len(contents)], rng) for number in range(states)]
    execution = native.execute(Task(HOME, padded, drawn_states, seconds=seconds))
    wrong = [[code in (layout.DIFFERENT, layout.FAULTED) for code in run.codes] for run in execution.runs]
    defined = [of_run[references:] for of_run in wrong if of_run and not any(of_run[:references])]
    different = sum(map(sum, defined))
    faults = [run.fault.reason for run in execution.runs if run.fault]
    reason = execution.lost or execution.difference or (faults[0] if faults else "")
    ended = len(execution.runs) - len(faults)
    undefined = sum(any(of_run[:references]) for of_run in wrong)
    return Executions(ended - undefined, undefined, different, sum(map(len, defined)) - different, reason)


_STEP, _LINE = 16, 64  # bytes: compilers align functions to 16


@dataclass(frozen=True)
class Effort:
    """How long a form is measured."""

    rounds: int = 50  # calls that are timed together, after one that is not
    trials: int = 20  # of which the fastest counts, for each displacement
    displacements: int = 4  # of the code behind a multiple of 64 bytes


class NotMeasured(ValueError):
    """The function did not run, or ran too long."""


def cycles(
    native: Native,
    forms: Sequence[Image],
    of: Signature,
    values: Values,
    start: State,
    effort: Effort,
    rng: np.random.Generator,
    seconds: float = 30.0,
) -> np.ndarray:
    """Core cycles of a call of each form, (forms, displacements). All run from the same state. Raises NotMeasured."""
    notes = HOME - layout.NOTES_BELOW
    pieces = [
        timed(calling(form, of, values, _STEP * place % _LINE), HOME, notes, effort.rounds)[0]
        for form in forms
        for place in range(effort.displacements)
    ]
    pieces.append(timed(clock, HOME, notes, effort.rounds)[0])
    task = TimedTask(HOME, pieces, 0, [start], effort.trials, int(rng.integers(1 << 31)), seconds=seconds)
    answer = native.time(task)
    if answer.lost:
        raise NotMeasured(answer.lost)
    least = np.array(answer.ticks, float).min(0)
    of_forms = least[:-1] * CLOCK_CYCLES / least[-1]
    return of_forms.reshape(len(forms), effort.displacements)
