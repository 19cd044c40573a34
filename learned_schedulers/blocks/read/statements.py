"""Text for GNU's assembler -> what each line is: one plain statement, or something that is left alone.

Only what is certain counts. A line is an instruction if it holds exactly one statement and nothing that the assembler
treats in a special way: no string, no address relative to the statement itself. The assembler itself decides later
whether it is an instruction indeed (`listing.py`). Files with macros and conditions are refused (`compiler_output.py`).
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
    OPAQUE = 7  # anything else: inline assembly, several statements


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
    inline: list[bool]  # the line is in inline assembly of a compiler
    sections: list[str]  # name of the section of each line, with "x" before it if the text says that it holds code


PADDING = frozenset({".p2align", ".p2alignw", ".p2alignl", ".align", ".balign", ".balignw", ".balignl"})
SECTIONS = frozenset({".text", ".data", ".bss", ".section", ".pushsection", ".popsection", ".previous", ".subsection"})
_NAMES = {
    *(".type", ".size", ".globl", ".global", ".weak", ".local", ".hidden", ".internal", ".protected", ".file"),
    *(".ident", ".att_syntax", ".intel_syntax", ".code64", ".comm", ".lcomm", ".symver", ".weakref"),
    *(".addrsig", ".addrsig_sym", ".cg_profile"),
}
_SETTING = {".set", ".equ", ".equiv", ".eqv"}
_PREFIXES = frozenset(
    {
        *("lock", "rep", "repe", "repz", "repne", "repnz", "data16", "data32", "addr16", "addr32", "rex", "rex64"),
        *("cs", "ds", "es", "fs", "gs", "ss", "bnd", "notrack", "xacquire", "xrelease", "wait", "fwait"),
    }
)
_ALONE = re.compile(r"rex(?:64)?[wrxbyz.]*|data16|data32|addr16|addr32")  # prefixes that compilers write for linkers

# Clang's marks around assembly that stands outside of functions; GCC's are those of other inline assembly.
_INLINE = {"#APP": True, "#NO_APP": False}
_FILE_SCOPE = {"# Start of file scope inline assembly": True, "# End of file scope inline assembly": False}
_SPECIAL = re.compile(r'"(?:[^"\\]|\\.)*"|\'\\?.\'?|/\*.*?\*/|/\*|#|"|\'', re.DOTALL)
_NAME_IN_STRING = re.compile(r'"[\w.$-]*"')
_ASSIGNMENT = re.compile(r"(?:\.(?:set|equ|equiv|eqv)\s+([\w.$]+)\s*,|([\w.$]+)\s*={1,2})\s*([^=].*)", re.IGNORECASE)
_LABEL = re.compile(r"([A-Za-z_.$][\w.$]*|\d+)\s*:")
_INSTRUCTION = re.compile(r"(?:\{[a-z0-9_]+\}\s+)*[A-Za-z][A-Za-z0-9]*(?:[.][a-z0-9]+)?(?:\s+[^=]*)?")
_HERE = re.compile(r"(?:^|[^\w.@])\.(?![\w.$])")  # the address of the statement itself
_REFERENCE = re.compile(r"[\w.$]+")
DEBUG_SECTION = re.compile(r"\.(?:z?debug_|gnu\.debuglto_)")
UNWINDING = re.compile(r"\.z?debug_frame\b")
_SECTION = re.compile(r'\s*(?:"([^"]*)"|([^\s,"]+))(?:[^"]*"([^"]*)")?')  # name, name, flags
_CODE = (".text", ".init", ".fini", ".plt")  # sections that hold code without a flag that says so


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
        self.debug = bool(DEBUG_SECTION.match(self.name)) and not UNWINDING.match(self.name)

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


def _plain(text: str) -> Statement:
    """What a line of one statement is, outside of inline assembly."""
    if text[-1] == ":" and (match := _LABEL.fullmatch(text)):
        return Statement(Kind.LABEL, match.group(1), "", text)
    word, operands = _split(text)
    if ":" in word or ";" in text:
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

    statement: Statement  # outside of inline assembly
    code: str  # without comments
    in_comment: bool  # a comment of several lines goes on after it
    unusual: bool
    changes: bool  # it may change the section


@lru_cache(1 << 16)  # compilers repeat themselves: of a hundred lines, forty are new
def _line(line: str, in_comment: bool) -> _Line:
    code, in_comment, unusual = _without_comments(line, in_comment)
    if code.endswith(";"):
        code = code.rstrip("; \t\r")
    if not code:
        return _Line(Statement(Kind.OPAQUE, "", "", "") if unusual else _NOTHING, "", in_comment, unusual, False)
    statement = _plain(code)
    changes = statement.kind == Kind.OPAQUE or statement.word in SECTIONS
    return _Line(statement, code, in_comment, unusual, changes)


class _Scanner:
    """The state of the assembler's reader from line to line, as far as it changes what a line is."""

    def __init__(self) -> None:
        self.sections = _Sections()
        self.in_comment = self.in_inline = False

    def is_mark(self, line: str) -> bool:
        """Take note of the begin or the end of inline assembly, if the line is one."""
        if line[:1] not in "# \t" or self.in_comment or "#" not in line:
            return False
        text = line.strip()
        begins = _INLINE.get(text, _FILE_SCOPE.get(text))
        if begins is not None:
            self.in_inline = begins
        return begins is not None

    def line(self, line: str) -> Statement:
        """What the next line is."""
        statement, code, self.in_comment, unusual, changes = _line(line, self.in_comment)
        if not code:
            return statement
        if changes:
            for part in code.split(";"):
                self._follow(part.strip())
        if unusual or (self.in_inline and statement.kind != Kind.LOCATION):
            statement = statement._replace(kind=Kind.OPAQUE)
        return statement

    def _follow(self, part: str) -> None:
        """Take note of a statement that may change the section."""
        word, operands = _split(part)
        while word.endswith(":"):
            word, operands = _split(operands)
        if word in SECTIONS:
            self.sections.follow(word, operands)


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
    scanner = _Scanner()
    for line in lines:
        was_inline = scanner.in_inline
        inline.append(scanner.is_mark(line) or was_inline)
        statement = scanner.line(line)
        statements.append(statement)
        sections.append(scanner.sections.name)
        if not scanner.sections.debug and statement.kind >= Kind.SILENT:
            referring.append(statement.text)
    return Source(lines, statements, frozenset(_REFERENCE.findall("\n".join(referring))), inline, sections)
