"""Whether assembly is what a compiler wrote: that is read, and what people wrote by hand is left alone as a whole.

A compiler names the file that it read (`.file`), writes every instruction inside of a function (`.type f, @function`,
`f:`, up to `.size`), gives its own places names with a number (`.L5`, `.LFB0`, `.LBB0_1`), and uses neither macros nor
conditions of the assembler. So it is known what its code does not do: jump elsewhere than to labels that it names,
return elsewhere than behind a call, hide instructions in bytes. Inline assembly (`#APP`) may hold anything but macros
and what changes how the lines after it are read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from learned_schedulers.blocks.read.statements import PADDING, SECTIONS, Kind, Source, Statement

_PLACE = re.compile(r"\.L[\w.$]*\d[\w.$]*")  # a place that a compiler names
_PREPROCESSOR = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif|else|endif|include|define|undef|error|pragma)\b")
_PREFIXED = re.compile(r"(?:lock|rep\w*|data16|rex64|notrack|bnd|cs|[ \t])+(?:[a-z]\w*(?:\s[^;:=]*)?)?")
_PROFILED = re.compile(r"1:\s+call\s[^;:]*")  # of -pg
_FIXED = re.compile(r"(?:^|[\s,*])[-+]?\d\w*\(%rip\)|(?<![\w.$@])\[\s*rip\s*(?:[-+]\s*\d\w*\s*)?\]", re.IGNORECASE)
_BY_HAND = re.compile(
    r"(?:^|[;:])\s*\.(?:macro|rept|rep|irp|irpc|irep|irepc|if\w*|else\w*|endif|altmacro|include|incbin|org|subsection"
    r"|code16|code16gcc|code32|end|loc)\b",
    re.IGNORECASE,
)
_TABLES = re.compile(r"\.eh_frame\b|\.z?debug_frame\b|\.z?debug_line\b")
_DIRECTIVES = frozenset(
    {
        *PADDING, *SECTIONS - {".subsection"},
        *(".zero", ".skip", ".space", ".fill", ".string", ".ascii", ".asciz", ".base64", ".float", ".double"),
        *(".byte", ".2byte", ".4byte", ".8byte", ".short", ".value", ".hword", ".word", ".int", ".long", ".quad"),
        *(".octa", ".uleb128", ".sleb128", ".dc.a", ".nops", ".gnu_attribute"),
    }
)  # fmt: skip


class Foreign(NamedTuple):
    """The first line that no compiler writes."""

    line: int
    reason: str


def foreign_line(source: Source) -> Foreign | None:
    """Why a file is no compiler's output, or one that is not understood; None for a compiler's."""
    if not any(statement.word == ".file" for statement in source.statements):
        return Foreign(0, "no .file names what a compiler read")
    functions = {s.operands.split(",")[0].strip() for s in source.statements if _is_type_of_function(s)}
    current: dict[str, str] = {}  # section -> the function that goes on there
    for line, statement in enumerate(source.statements):
        section = source.sections[line]
        if statement.word == ".file" and source.lines[line].rstrip().rstrip('"').endswith((".s", ".S", ".sx", ".asm")):
            return Foreign(line, "it was written by hand and preprocessed")
        if statement.kind == Kind.OPAQUE and _BY_HAND.search(statement.text):
            return Foreign(line, "a macro, a condition, another mode or another file")
        if source.inline[line]:
            continue
        if reason := _foreign(source, line, functions):
            return Foreign(line, reason)
        if statement.kind == Kind.LABEL and statement.word in functions:
            current[section] = statement.word
        elif statement.word == ".size" and statement.operands.split(",")[0].strip() == current.get(section):
            del current[section]
        elif statement.kind == Kind.INSTRUCTION and section not in current and statement.word != "nop":
            return Foreign(line, "an instruction outside of a function with .type and .size")
    return None


def _is_type_of_function(statement: Statement) -> bool:
    return statement.word == ".type" and "function" in statement.operands


def _foreign(source: Source, line: int, functions: set[str]) -> str:
    """What is foreign in a line outside of inline assembly; empty if nothing is."""
    statement, section = source.statements[line], source.sections[line]
    if statement.kind == Kind.COMMENT:
        return "a line for the C preprocessor" if _PREPROCESSOR.match(source.lines[line]) else ""
    if statement.kind == Kind.LABEL and section.startswith("x"):
        is_own = statement.word in functions or _PLACE.fullmatch(statement.word)
        return "" if is_own else "a label in code that is no function"
    if statement.kind == Kind.OPAQUE:
        is_own = _PREFIXED.fullmatch(statement.text) or _PROFILED.fullmatch(statement.text)
        return "" if is_own else "several statements on a line, or an unusual one"
    if statement.kind == Kind.DIRECTIVE:
        if statement.word not in _DIRECTIVES:
            return "a directive that compilers do not write"
        if _TABLES.match(section) and statement.word not in SECTIONS:
            return "tables of frames or of lines that the assembler should make"
    if statement.kind == Kind.INSTRUCTION and "rip" in statement.operands and _FIXED.search(statement.operands):
        return "a distance from the instruction as a number"
    return ""
