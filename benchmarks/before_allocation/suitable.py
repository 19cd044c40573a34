"""Which functions are candidates: a large block, no calls, no state, and arguments that a caller can fill in."""

from __future__ import annotations

import re
from typing import NamedTuple

from benchmarks.before_allocation.cutting import Module
from benchmarks.before_allocation.normal import named, normal
from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.functions import Function, functions

LEAST, MOST = 30, 2000  # instructions of the largest block that may move
_MOST_IN_ALL = 6000  # instructions of the function: larger ones take LLVM too long to try 1,000 orders
_SCALAR = re.compile(r"^(?:i(?:8|16|32|64|1)|ptr|float|double)$")
_RETURN = re.compile(r"(?:^|\s)(void|i\d+|ptr|float|double|<[^<>]*>|\{.*\}|\[.*\]|%\S+|x86_fp80|fp128|half)$")
_HEAD = re.compile(r'^define (.*?) @(?:"(?:[^"\\]|\\.)*"|[-\w$.]+)\((.*)\)')
_UNFIT = ("byval", "inalloca", "preallocated", "swift", " nest ", "...")
_WIDE = re.compile(r"<(\d+) x (?:i(\d+)|(float|double|ptr|half))>")
_BITS = {"float": 32, "double": 64, "ptr": 64, "half": 16}
_STATE = re.compile(r"@llvm\.(?:x86\.rd|x86\.xgetbv|readcyclecounter|[sg]et\.(?:rounding|fp)|x86\.sse\.(?:ld|st)mxcsr)")
_CALL = re.compile(r"^\s+(?:call|jmp)q?\s+[^.*\s]\S*", re.MULTILINE)


class UnfitError(ValueError):
    """A function is no candidate."""


class Candidate(NamedTuple):
    """A function in a module of its own."""

    function: str
    signature: str  # of LLVM's types: void(ptr,i64)
    block_instructions: int  # of the largest block, that may move
    instructions: int  # of all blocks, that may move
    text: str


def large(function: Function) -> bool:
    """Whether the size is right, before typed pointers are removed."""
    sizes = [len(block.items) for block in function.blocks]
    return max(sizes) >= LEAST and sum(sizes) <= 2 * _MOST_IN_ALL


def candidate(module: Module, function: Function, emitter: llvm.Emitter) -> Candidate:
    """The function in a module of its own, verified by LLVM. Raises UnfitError, CutError or LlvmError."""
    name = function.name
    try:
        text = normal(named(normal(named(module.alone(function)))))
    except RuntimeError as error:
        raise UnfitError("LLVM does not read clang's text") from error
    (alone,) = functions(text)
    sizes = [len(block.items) for block in alone.blocks]
    if not LEAST <= max(sizes) <= MOST or sum(sizes) > _MOST_IN_ALL:
        raise UnfitError("its size")
    if any(block.left_alone for block in alone.blocks):
        raise UnfitError("a block whose order is kept")
    if "x86_fp80" in text or "fp128" in text or _STATE.search(text) or " volatile " in text or " atomic " in text:
        raise UnfitError("x87, volatile, atomic or state of the processor")
    if any(int(count) * (int(bits or 0) or _BITS[kind]) > 256 for count, bits, kind in _WIDE.findall(text)):
        raise UnfitError("vectors of more than 256 bits")
    signature = _signature(alone.head)
    if _CALL.search(emitter.assembly(text, name)):
        raise UnfitError("LLVM calls a library for it")
    return Candidate(name, signature, max(sizes), sum(sizes), text)


def _signature(head: str) -> str:
    """The types of result and arguments. Raises UnfitError for those that no pointer or number can stand for."""
    match = _HEAD.match(head)
    returned = _RETURN.search(match[1]) if match else None
    if not match or not returned or any(word in match[2] for word in _UNFIT):
        raise UnfitError("arguments")
    types = [part.split()[0] for part in _parts(match[2])]
    if not all(map(_SCALAR.match, types)) or not (returned[1] == "void" or _SCALAR.match(returned[1])):
        raise UnfitError("arguments")
    return f"{returned[1]}({','.join(types)})"


def _parts(arguments: str) -> list[str]:
    """The arguments, cut at commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]
