"""Text for GNU's assembler -> what each line is: one plain statement, or something that is left alone.

Only what is certain counts. A line is an instruction if it holds exactly one statement and nothing that the assembler
treats in a special way: no macro, no condition, no string, no address relative to the statement itself. The assembler
itself decides later whether it is an instruction indeed (`listing.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple


class Kind(IntEnum):
    COMMENT = 0  # nothing, or a comment alone
    LABEL = 1  # a label alone
    LOCATION = 2  # `.loc`
    SILENT = 3  # a directive that emits nothing where it stands: names, frames, sizes; also padding
    INSTRUCTION = 4  # one statement that may be an instruction
    DIRECTIVE = 5  # any other directive alone: data, sections
    ASSIGNMENT = 6  # `.set name, value` or `name = value`; `word` is the name
    OPAQUE = 7  # anything else: inline assembly, macros and conditions, several statements


class Statement(NamedTuple):
    """A line. `text` is its code without comments; strings that hold more than a name are empty in it."""

    kind: Kind
    word: str  # in lower case: directive or mnemonic; of a label or an assignment: its name as it is written
    operands: str
    text: str


_NOTHING = Statement(Kind.COMMENT, "", "", "")


@dataclass
class Source:
    """A file as lines; `lines[k]` with its line end belongs to `statements[k]`."""

    lines: list[str]
    statements: list[Statement]
    references: frozenset[str]  # names in lines outside of such sections of debug information, definitions apart
    unwinding: frozenset[str]  # names in tables of frames, which compilers may write themselves, without `.cfi_*`
    inline: list[bool]  # the line is in inline assembly of a compiler
    sections: list[str]  # name of the section of each line, with "x" before it if the text says that it holds code
    hidden_locations: bool  # a macro, a condition or a line of several statements contains `.loc`
    foreign_mode: bool  # some code may be for 16 or 32 bits, it is not visible which


PADDING = frozenset({".p2align", ".p2alignw", ".p2alignl", ".align", ".balign", ".balignw", ".balignl"})
SECTIONS = frozenset({".text", ".data", ".bss", ".section", ".pushsection", ".popsection", ".previous", ".subsection"})
_NAMES = {
    *(".type", ".size", ".globl", ".global", ".weak", ".local", ".hidden", ".internal", ".protected", ".file"),
    *(".ident", ".att_syntax", ".intel_syntax", ".code64", ".comm", ".lcomm", ".symver", ".weakref"),
    *(".addrsig", ".addrsig_sym", ".cg_profile"),
}
_OPENING = {".macro", ".rept", ".rep", ".irp", ".irpc", ".irep", ".irepc"}
_CLOSING = {".endm", ".endr", ".endif", ".endc"}
_SETTING = {".set", ".equ", ".equiv", ".eqv"}
_MODES = {".code16", ".code16gcc", ".code32"}
_PREFIXES = frozenset(
    [
        "lock",
        "rep",
        "repe",
        "repz",
        "repne",
        "repnz",
        "data16",
        "data32",
        "addr16",
        "addr32",
        "rex",
        "rex64",
        "cs",
        "ds",
        "es",
        "fs",
        "gs",
        "ss",
        "bnd",
        "notrack",
        "xacquire",
        "xrelease",
        "wait",
        "fwait",
    ]
)
_ALONE = re.compile(r"rex(?:64)?[wrxbyz.]*|data16|data32|addr16|addr32")  # prefixes that compilers write for linkers

_TRACKED = _OPENING | _CLOSING | _MODES | SECTIONS | {".code64", ".end"}

_LOC = re.compile(r"\.loc\b(?!\.)")
_SPECIAL = re.compile(r'"(?:[^"\\]|\\.)*"|\'\\?.\'?|/\*.*?\*/|/\*|#|"|\'', re.DOTALL)
_NAME_IN_STRING = re.compile(r'"[\w.$-]*"')
_ASSIGNMENT = re.compile(r"(?:\.(?:set|equ|equiv|eqv)\s+([\w.$]+)\s*,|([\w.$]+)\s*={1,2})\s*([^=].*)", re.IGNORECASE)
_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*|\d+)\s*:")
_INSTRUCTION = re.compile(r"(?:\{[a-z0-9_]+\}\s+)*[A-Za-z][A-Za-z0-9]*(?:[.][a-z0-9]+)?(?:\s+[^=]*)?")
_HERE = re.compile(r"(?:^|[^\w.@])\.(?![\w.$])")  # the address of the statement itself
_REFERENCE = re.compile(r"[\w.$]+")
DEBUG_SECTION = re.compile(r"\.(?:z?debug_|gnu\.debuglto_)")
FRAMES = re.compile(r"\.eh_frame\b|\.z?debug_frame\b")
UNWINDING = re.compile(r"\.z?debug_frame\b")
_SECTION = re.compile(r'\s*(?:"([^"]*)"|([^\s,"]+))(?:[^"]*"([^"]*)")?')  # name, name, flags
_CODE = (".text", ".init", ".fini", ".plt")  # sections that hold code without a flag that says so
_LINES = re.compile(r"\.z?debug_line\b")  # written by a compiler that does not use `.loc`: its labels are lines


class _Sections:
    """The current section by the directives so far: its name, with "x" before it if it holds code."""

    def __init__(self) -> None:
        self.name = self._previous = "x.text"
        self.debug = False  # it holds debug information that may become approximate
        self._stack: list[tuple[str, str]] = []
        self._code: set[str] = set()  # names of sections of code

    def follow(self, word: str, operands: str) -> None:
        """Take note of a directive of `SECTIONS`."""
        self._enter(word, operands)
        self.debug = bool(DEBUG_SECTION.match(self.name)) and not (
            UNWINDING.match(self.name) or _LINES.match(self.name)
        )

    def _enter(self, word: str, operands: str) -> None:
        if word == ".popsection":
            if self._stack:
                self.name, self._previous = self._stack.pop()
            return
        if word == ".previous":
            self.name, self._previous = self._previous, self.name
            return
        if word == ".pushsection":
            self._stack.append((self.name, self._previous))
        self._previous = self.name
        if word in (".section", ".pushsection"):
            match = _SECTION.match(operands)
            name, flags = ((match.group(1) or match.group(2) or ""), match.group(3) or "") if match else ("", "")
            if "x" in flags or name.startswith(_CODE) or not name:
                self._code.add(name)
            self.name = f"x{name}" if name in self._code else name  # later directives may leave the flags out
        elif word != ".subsection":
            self.name = "x.text" if word == ".text" else word


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool, bool]:
    """A line's code; whether a comment of several lines goes on after it; whether the line is of an unusual form."""
    unusual = in_comment
    if in_comment:
        _, closed, line = line.partition("*/")
        if not closed:
            return "", True, True
    elif line.lstrip()[:1] == "/" and line.lstrip()[:2] != "/*":  # elsewhere it is a division
        return "", False, False
    if '"' not in line and "'" not in line and "/*" not in line:
        return line.partition("#")[0].strip(), False, unusual
    parts: list[str] = []
    position = 0
    for match in _SPECIAL.finditer(line):
        parts.append(line[position : match.start()])
        position = match.end()
        token = match.group()
        if token == "#":
            return "".join(parts).strip(), False, unusual
        if token == "/*":
            return "".join(parts).strip(), True, True
        if token[0] == "/":
            parts.append(" ")
        elif token[0] == '"' and len(token) > 1:
            parts.append(token if _NAME_IN_STRING.fullmatch(token) else '""')
        else:
            parts.append("''")
            unusual = True
    parts.append(line[position:])
    return "".join(parts).strip(), False, unusual


def _split(text: str) -> tuple[str, str]:
    words = text.split(None, 1)
    return (words[0].lower(), words[1].rstrip()) if len(words) > 1 else (text.strip().lower(), "")


def _plain(text: str, macros: frozenset[str]) -> Statement:
    """What a line of one statement is, outside of macros and conditions."""
    if text[-1] == ":" and (match := _LABEL.fullmatch(text)):
        return Statement(Kind.LABEL, match.group(1), "", text)
    word, operands = _split(text)
    if word in macros or ":" in word or ";" in text:
        return Statement(Kind.OPAQUE, word, operands, text)
    if ("=" in text or word in _SETTING) and (match := _ASSIGNMENT.fullmatch(text)) and match.group(2) != ".":
        return Statement(Kind.ASSIGNMENT, match.group(1) or match.group(2), match.group(3), text)
    if word[0] == ".":
        if word == ".loc":
            return Statement(Kind.LOCATION, word, operands, text)
        silent = word in PADDING or word in _NAMES or word.startswith(".cfi_")
        return Statement(Kind.SILENT if silent else Kind.DIRECTIVE, word, operands, text)
    is_prefix = all(part in _PREFIXES for part in text.lower().split())
    if (
        is_prefix
        or _ALONE.fullmatch(word)
        or any(mark in text for mark in "\"'`\\")
        or _HERE.search(operands)
        or not _INSTRUCTION.fullmatch(text)
    ):
        return Statement(Kind.OPAQUE, word, operands, text)
    return Statement(Kind.INSTRUCTION, word, operands, text)


class _Line(NamedTuple):
    """A line by itself."""

    statement: Statement  # outside of macros and conditions
    code: str  # without comments
    in_comment: bool  # a comment of several lines goes on after it
    unusual: bool
    changes: bool  # it may change what the lines after it are


@lru_cache(1 << 16)  # compilers repeat themselves: of a hundred lines, forty are new
def _line(line: str, in_comment: bool, macros: frozenset[str]) -> _Line:
    code, in_comment, unusual = _without_comments(line, in_comment)
    if code.endswith(";"):
        code = code.rstrip("; \t\r")
    if not code:
        return _Line(Statement(Kind.OPAQUE, "", "", "") if unusual else _NOTHING, "", in_comment, unusual, False)
    statement = _plain(code, macros)
    changes = statement.kind == Kind.OPAQUE or statement.word in _TRACKED or statement.word.startswith(".if")
    return _Line(statement, code, in_comment, unusual, changes)


class _Scanner:
    """The state of the assembler's reader from line to line, as far as it changes what a line is."""

    def __init__(self) -> None:
        self.sections = _Sections()
        self.macros: frozenset[str] = frozenset()
        self.in_comment = self.in_inline = False
        self.hidden_locations = self.foreign_mode = False
        self.confused = False  # a macro or a condition changes the section
        self._ended, self._mode_64, self._depth = False, True, 0

    def line(self, line: str) -> Statement:
        """What the next line is."""
        statement, code, self.in_comment, unusual, changes = _line(line, self.in_comment, self.macros)
        if not code:
            return statement
        inside = self._depth > 0
        if changes:
            for part in code.split(";"):
                self._follow(part.strip(), inside)
        opaque = inside or self._depth > 0 or unusual or not self._mode_64 or self._ended
        if opaque or (self.in_inline and statement.kind != Kind.LOCATION):
            statement = statement._replace(kind=Kind.OPAQUE)
        if statement.kind == Kind.OPAQUE and ".loc" in code and _LOC.search(code):
            self.hidden_locations = True
        return statement

    def _follow(self, part: str, inside: bool) -> None:
        """Take note of a statement; `inside`: of a macro or a condition."""
        word, operands = _split(part)
        while word.endswith(":"):
            word, operands = _split(operands)
        if word in _OPENING or word.startswith(".if"):
            self._depth += 1
            if word == ".macro":
                self.macros |= {_split(operands.replace(",", " "))[0]}
        elif word in _CLOSING:
            self._depth = max(self._depth - 1, 0)
        elif word in SECTIONS:
            self.sections.follow(word, operands)
            self.confused |= inside
        elif word in _MODES or word == ".code64":
            self._mode_64 = word == ".code64"
            self.foreign_mode |= inside or (self.in_inline and not self._mode_64)
        elif word == ".end":
            self._ended = True


def scan(text: str) -> Source:
    """The lines of a file, decoded as Latin-1, so that every byte is a character."""
    lines = text.split("\n")
    last = lines.pop()
    lines = [f"{line}\n" for line in lines]
    if last:
        lines.append(last)
    statements: list[Statement] = []
    inline: list[bool] = []
    sections: list[str] = []
    referring: list[str] = []
    unwinding: list[str] = []
    scanner = _Scanner()
    for line in lines:
        is_mark = line[:1] in "# \t" and not scanner.in_comment and line.strip() in ("#APP", "#NO_APP")
        inline.append(scanner.in_inline or is_mark)
        if is_mark:
            scanner.in_inline = "NO_" not in line
        statement = scanner.line(line)
        statements.append(statement)
        sections.append("x" if scanner.confused else scanner.sections.name)
        if (scanner.confused or not scanner.sections.debug) and statement.kind >= Kind.SILENT:
            referring.append(statement.text)
        if statement.kind == Kind.DIRECTIVE and FRAMES.match(scanner.sections.name):
            unwinding.append(statement.operands)
    references, frames = (frozenset(_REFERENCE.findall("\n".join(texts))) for texts in (referring, unwinding))
    hidden, foreign = scanner.hidden_locations, scanner.foreign_mode
    return Source(lines, statements, references, frames, inline, sections, hidden, foreign)
