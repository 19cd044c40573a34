"""Accesses to memory that may throw an exception: whoever catches it sees what happened before.

In Ada, Go and Pascal every access may throw. In C++ and C only calls do, unless code was compiled with
`-fnon-call-exceptions`. GCC begins a range of its exception table (`.LEHB`) at an instruction that may throw, and ends
it (`.LEHE`) after one. So a range that begins or ends with anything but a call or a tail call shows the option. A range
whose first and last instructions are calls may hold accesses between them, and does not show whether they throw. A file
without ranges shows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from iced_x86 import Decoder, Register

from learned_schedulers.blocks.dag.memory_order import may_trap
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.statements import Kind, Source

OF_LANGUAGE = "memory accesses may throw in its language ({}), so their order is observed"
OF_OPTION = "memory accesses in it may throw (-fnon-call-exceptions), so their order is observed"
PERSONALITIES = {  # parts of names of functions that find handlers
    "__gnat_personality": "Ada", "__gccgo_personality": "Go", "__gcj_personality": "Java", "_fpc_psabieh": "Pascal",
    "__gnat_eh_personality": "Ada",
}  # fmt: skip
_SUFFIXES = {"adb": "Ada", "ads": "Ada", "ada": "Ada", "go": "Go", "pas": "Pascal", "pp": "Pascal", "lpr": "Pascal"}
_FILE = re.compile(r"\.file\s.*\.(\w+)\"\s*(?:md5.*)?")
_CALLS = ("call", "j", "lcall", "ljmp", "notrack", "bnd")  # words of calls and of tail calls


def language(source: Source) -> str:
    """The language of a file in which accesses may throw; empty for another."""
    for statement in source.statements:
        if statement.word == ".cfi_personality":
            for name, of in PERSONALITIES.items():
                if name in statement.operands:
                    return of
        if statement.word == ".file" and (match := _FILE.fullmatch(statement.text)) is not None:
            if match.group(1).lower() in _SUFFIXES:
                return _SUFFIXES[match.group(1).lower()]
        elif statement.word == ".section" and statement.operands.startswith(".go_export"):
            return "Go"
    return ""


def _ranges(source: Source) -> Iterator[tuple[int, int]]:
    """Lines between the labels of each range of exceptions."""
    begin = -1
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.LABEL and statement.word.startswith(".LEHB"):
            begin = line
        elif statement.kind == Kind.LABEL and statement.word.startswith(".LEHE") and begin >= 0:
            yield begin, line
            begin = -1


def compiled_to_throw(source: Source) -> bool:
    """Whether some range of exceptions begins or ends with an instruction that only throws by -fnon-call-exceptions."""
    for begin, end in _ranges(source):
        inside = [s for s in source.statements[begin:end] if s.kind in (Kind.INSTRUCTION, Kind.OPAQUE) and s.text]
        for statement in (*inside[:1], *inside[-1:]):
            if statement.kind == Kind.INSTRUCTION and not statement.word.startswith(_CALLS):
                return True
    return False


def may_throw(source: Source, part: Listing) -> np.ndarray:
    """Instructions in ranges of exceptions that may trap, the frame and places at a fixed distance apart; (C,) bool.

    If one throws, what catches it sees registers and memory as they are there, so nothing crosses it.
    """
    throws = np.zeros(len(part.line), bool)
    traps: dict[int, bool] = {}  # by form
    for begin, end in _ranges(source):
        first, last = np.searchsorted(part.line, (begin, end)).tolist()
        for k in range(first, last):
            form = int(part.form[k])
            if form not in traps:
                instruction = Decoder(64, part.forms.examples[form]).decode()
                apart = (Register.RSP, Register.RIP)
                near = instruction.memory_base in apart and instruction.memory_index == Register.NONE
                traps[form] = may_trap(instruction) and not near
            throws[k] = traps[form]
    return throws
