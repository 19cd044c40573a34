"""A block of LLVM's intermediate code -> its dependency DAG: values, memory, and what must not move.

An order that keeps these pairs computes the same function. A value is computed after its operands; each load sees the
same last store, and memory ends equal, because accesses that may touch the same bytes keep their order unless both
read; what is observed outside (calls, volatile and atomic accesses) happens in the same sequence and with the same
memory; and nothing with undefined operands runs that did not run before, because nothing that could be undefined passes
a call that may not return. Speculating within a block is no question: all of its instructions run, or a call ends it.
Meaning of opcodes and attributes: LLVM's Language Reference. An instruction that is not listed is a wall.
"""

from __future__ import annotations

import re
from enum import IntEnum, auto

import numpy as np

from learned_schedulers.blocks.before_allocation.functions import Block, Item
from learned_schedulers.blocks.before_allocation.llvm import key


class Effect(IntEnum):
    """Pairs of effects that keep their order: `conflict`."""

    NONE = auto()  # a result alone
    DIVISION = auto()  # undefined for some operands: not before a call that may not return
    ALLOCATION = auto()  # of the stack, which calls may save and restore
    LOAD = auto()
    STORE = auto()
    CALL = auto()  # reads and writes memory, and returns
    BARRIER = auto()  # volatile, atomic, may not return or may throw
    WALL = auto()  # nothing passes it


_PURE = frozenset(
    """
    fneg add fadd sub fsub mul fmul fdiv frem shl lshr ashr and or xor extractelement insertelement shufflevector
    extractvalue insertvalue getelementptr trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr
    inttoptr bitcast addrspacecast icmp fcmp select freeze
    """.split()  # noqa: SIM905
)
_DIVISIONS = frozenset(["udiv", "sdiv", "urem", "srem"])
_ATOMIC = frozenset(["fence", "cmpxchg", "atomicrmw", "va_arg"])
_WALLS = ("convergent", "strictfp", "returns_twice", "noreturn")
_STATE = re.compile(
    r"@llvm\.(x86\.(sse\.(ldmxcsr|stmxcsr)|mmx|avx\.vzero|fx)|[sg]et\.(rounding|fp)|returnaddress|frame)"
)
_CALLEE = re.compile(r'@("(?:[^"\\]|\\.)*"|[-\w$.]+)\(')
_GROUP = re.compile(r"#\d+")
_DECLARED = re.compile(r'^(?:declare|define) .*?@("(?:[^"\\]|\\.)*"|[-\w$.]+)\((.*)$', re.MULTILINE)
_GROUPS = re.compile(r"^attributes (#\d+) = \{(.*)\}$", re.MULTILINE)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"(?:="(?:[^"\\]|\\.)*")?')


class Effects:
    """Effects of the instructions of a module."""

    def __init__(self, text: str) -> None:
        self._groups = {group: _STRING.sub("", words) for group, words in _GROUPS.findall(text)}
        self._callees = {name: self._attributes(rest) for name, rest in _DECLARED.findall(text)}

    def of(self, item: Item) -> Effect:
        """The effect of an instruction."""
        text = item.lines[-1]
        words = text.split(" = ", 1)[-1].split() if item.result else text.split()
        if item.opcode in _PURE:
            return Effect.NONE
        if item.opcode in _DIVISIONS:
            return Effect.DIVISION
        if item.opcode == "alloca":
            return Effect.WALL if "inalloca" in words or "swifterror" in words else Effect.ALLOCATION
        if item.opcode in ("load", "store"):
            ordered = "volatile" in words[:3] or "atomic" in words[:3]
            plain = Effect.LOAD if item.opcode == "load" else Effect.STORE
            return Effect.BARRIER if ordered else plain
        if item.opcode in _ATOMIC:
            return Effect.BARRIER
        return self._of_call(text) if item.opcode == "call" else Effect.WALL

    def _of_call(self, text: str) -> Effect:
        callee = _CALLEE.search(text)
        if not callee or " asm " in text or _STATE.search(text) or re.search(r"\btoken\b", text):
            return Effect.WALL
        attributes = f"{self._callees.get(callee[1], '')} {self._attributes(text)}"
        if any(word in attributes for word in _WALLS):
            return Effect.WALL
        if "nounwind" not in attributes or "willreturn" not in attributes or "[ " in text:
            return Effect.BARRIER if "@llvm.assume(" not in text else Effect.CALL
        if "memory(none)" in attributes and "byval" not in text and "inalloca" not in text:
            return Effect.NONE
        return Effect.CALL

    def _attributes(self, text: str) -> str:
        return " ".join(self._groups.get(group, "") for group in _GROUP.findall(text))


def conflict(first: Effect, second: Effect) -> bool:
    """Whether two instructions keep their order whatever they access; two loads or stores are the caller's matter."""
    low, high = sorted((first, second))
    if high is Effect.WALL:
        return True
    if low is Effect.NONE:
        return False
    if high is Effect.BARRIER:
        return True
    return high is Effect.CALL and low is not Effect.DIVISION


_NAME = re.compile(r'%(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)')
_ACCESSES = (Effect.LOAD, Effect.STORE)


def precedes(block: Block, effects: Effects, function: str, apart: frozenset[tuple[str, str, str]]) -> np.ndarray:
    """(n, n) bool: [i, k] is true if instruction i must come before k; not transitively closed.

    function: its name; apart: pairs of accesses that LLVM proves not to alias (llvm.Code).
    """
    items = block.items
    n = len(items)
    before = np.zeros((n, n), bool)
    defined = {item.result: i for i, item in enumerate(items) if item.result}
    for k, item in enumerate(items):
        for line in item.lines:
            for name in _NAME.findall(line):
                if defined.get(name, k) < k:
                    before[defined[name], k] = True
    kinds = [effects.of(item) for item in items]
    texts = [key(item.lines[-1]) for item in items]
    active = [i for i, kind in enumerate(kinds) if kind is not Effect.NONE]
    for position, k in enumerate(active):
        for i in active[:position]:
            if kinds[i] in _ACCESSES and kinds[k] in _ACCESSES:
                reads = kinds[i] is kinds[k] is Effect.LOAD
                before[i, k] |= not reads and (function, texts[i], texts[k]) not in apart
            else:
                before[i, k] |= conflict(kinds[i], kinds[k])
    for k, kind in enumerate(kinds):
        if kind is Effect.WALL:
            before[:k, k] = before[k, k + 1 :] = True
    recorded = [i for i, item in enumerate(items) if len(item.lines) > 1]
    before[recorded[:-1], recorded[1:]] = True  # debug records keep their sequence
    return before
