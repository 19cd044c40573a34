"""Why two instructions must stay in order, in words."""

from __future__ import annotations

from iced_x86 import Formatter, FormatterSyntax, Instruction, Register

from learned_schedulers.blocks.dag import resources
from learned_schedulers.blocks.dag.dependencies import Kind
from learned_schedulers.blocks.dag.effects import Effects, effects
from learned_schedulers.blocks.dag.memory_order import Mark, MemoryOrder, is_barrier, may_trap

_formatter = Formatter(FormatterSyntax.INTEL)
_GENERAL = (
    *("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"),
    *(f"r{number}" for number in range(8, 16)),
)
_NAMES = [
    *((((1 << resources.GENERAL_LANES) - 1) << resources.GENERAL_LANES * k, name) for k, name in enumerate(_GENERAL)),
    *((3 << resources.WORD_BITS + resources.VECTOR_LANES * k, f"xmm{k}") for k in range(resources.N_VECTOR)),
    *((resources.LANES[Register.K0 + k], f"k{k}") for k in range(8)),
    *((resources.LANES[Register.MM0 + k], f"mm{k}") for k in range(8)),
    (resources.X87, "the x87 stack"),
    (resources.X87_CONTROL, "the x87 control word"),
    (resources.MXCSR, "mxcsr"),
]
_FLAGS = [(1 << 2 * resources.WORD_BITS + k, name) for k, name in enumerate(resources.FLAG_NAMES)]
_RSP = resources.LANES[Register.RSP]
_MEMORY = (
    (Kind.MEMORY_RAW, "store and load may overlap"),
    (Kind.MEMORY_WAR, "load and store may overlap"),
    (Kind.MEMORY_WAW, "two stores may overlap"),
)


def text(instruction: Instruction) -> str:
    """The instruction in Intel syntax."""
    return _formatter.format(instruction)


def reason(pair: tuple[Instruction, Instruction], marks: tuple[int, int], kinds: Kind, memory: MemoryOrder) -> str:
    """Why the first instruction of a pair must come before the second.

    kinds: of the pair's dependency within one thread; 0 where only the order of memory, or a mark, demands the order.
    """
    for instruction in pair:
        if effects(instruction).barrier or (memory != "single_thread" and is_barrier(instruction)):
            return f"barrier: {_formatter.format_mnemonic(instruction)}"
    first, second = map(effects, pair)
    parts: list[str] = []
    for name, shared in (
        ("RAW", first.writes & second.reads),
        ("WAR", first.reads & second.writes),
        ("WAW", first.writes & second.writes),
    ):
        for kind, names in ((f"REGISTER_{name}", _NAMES), (f"FLAG_{name}", _FLAGS)):
            if kinds & Kind[kind]:
                parts.append(f"{name} through {', '.join(word for bits, word in names if bits & shared)}")
    parts += [words for kind, words in _MEMORY if kinds & kind]
    if not kinds:
        parts += _by_surroundings(pair, (first, second), marks, memory)
    return "; ".join(parts)


def _by_surroundings(
    pair: tuple[Instruction, Instruction], both: tuple[Effects, Effects], marks: tuple[int, int], memory: MemoryOrder
) -> list[str]:
    """Reasons that are no dependency of one thread."""
    for instruction, mark in zip(pair, marks, strict=True):
        if mark & Mark.FIXED:
            return [f"nothing may cross {text(instruction)}"]
    if memory == "single_thread":
        return []
    parts: list[str] = []
    (first, second), (first_mark, second_mark) = both, marks
    for mover, other, mark in ((first, second, second_mark), (second, first, first_mark)):
        if mover.writes & _RSP and _in_frame(other, mark):
            parts.append("a frame access may not cross a change of rsp")
            break
    if not (first_mark | second_mark) & Mark.PRIVATE:
        (loads, stores), (later_loads, later_stores) = map(_directions, both)
        for holds, words in (
            (loads and later_loads, "a load may not pass a load"),
            (loads and later_stores, "a store may not pass a load"),
            (stores and later_stores, "a store may not pass a store"),
        ):
            if holds:
                parts.append(f"tso: {words}")
    traps = [may_trap(instruction) and not mark & Mark.PRIVATE for instruction, mark in zip(pair, marks, strict=True)]
    if memory == "precise" and any(traps) and not parts:
        parts.append("precise: an instruction that may trap may pass neither another one nor a store")
    return parts


def _directions(of: Effects) -> tuple[bool, bool]:
    """Whether it loads, and whether it stores."""
    return any(access.reads for access in of.accesses), any(access.writes for access in of.accesses)


def _in_frame(of: Effects, mark: int) -> bool:
    """Whether a memory operand may be in the frame."""
    for access in of.accesses:
        if access.segment != Register.NONE:
            continue
        registers = {access.base_register, access.index_register} - {Register.NONE, Register.RIP}
        if registers & {Register.RSP, Register.RBP} or (registers and not mark & Mark.CLOSED):
            return True
    return False
