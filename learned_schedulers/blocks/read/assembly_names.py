"""Labels of an assembly text that something else than a direct jump names: data, aliases, operands, inline assembly.

Whoever has a label's address may look for the instruction there. Tables of switches, which are constant, are told
apart, because a jump by one of their entries leads to the label itself. Ranges of exceptions (`.gcc_except_table`) and
debug information are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from learned_schedulers.blocks.read.assembly_functions import Function, functions
from learned_schedulers.blocks.read.statements import DEBUG_SECTION, SECTIONS, Kind, Source

_BY_REGISTERS = re.compile(r"\([^()]*%[^()]*\)|\[\s*rip\s*\]")  # the part of an operand that names registers
_TERM = re.compile(r"\s*([-+]?)\s*(?:OFFSET FLAT:)?\$?([\w.$]+)(?:@\w+)?\s*")
_SUM = re.compile(rf"(?:{_TERM.pattern})+")
_WORD = re.compile(r"[\w.$]+")
_DATA = re.compile(
    r"\.(?:quad|long|int|hword|short|word|value|byte|octa|[us]leb128|[1248]byte|dc(?:\.\w)?|set|equ\w*|eqv)\s+(.*)"
)
_LOCAL = re.compile(r"\.L[\w.$]+|\d+[bf]|\.")
_DEFINING = re.compile(r"[\w.$\"]\s*:|=|\.(?:set|equ\w*|eqv)\b")
_INDIRECT = re.compile(r"\bjmpq?\s+(?:.*[*\[]|r[a-z0-9]+$|\S*(?:indirect_thunk|retpoline|lvi_thunk))")
_ENTRY = {".quad": 8, ".8byte": 8, ".xword": 8, ".long": 4, ".4byte": 4, ".int": 4}  # bytes
_SILENT = SECTIONS | {".string", ".ascii", ".asciz"}
_WRITTEN = (".data", ".bss", ".tdata", ".tbss", ".ldata", ".lbss", ".sdata")  # sections that code may write
_FLAGS = re.compile(r'\s*"?([^\s,"]+)"?\s*,\s*"([^"]*)"')  # name and flags of a section


class Table(NamedTuple):
    """A table of a switch: its entries are labels, or their distances from its begin."""

    label: int  # line of its label
    size: int  # bytes


class Names(NamedTuple):
    """What a text names. A line stands for the label or the assignment on it."""

    places: list[tuple[int, int]]  # line, and bytes beyond it that are named
    unclear: list[int]  # lines of labels in expressions of which only the assembler knows the value
    tables: list[Table]
    inline: list[int]  # lines of inline assembly that may give a name to the instruction before or after it
    changeable: list[int]  # lines of labels whose addresses stand in data that code may write

    def lines(self) -> list[int]:
        """All lines, ascending."""
        return sorted(
            {line for line, _ in self.places}
            | {*self.unclear, *self.changeable}
            | {table.label for table in self.tables}
        )


class _Expression(NamedTuple):
    """An operand: its labels with their signs, the constant that is added, and whether the rest is understood."""

    labels: list[tuple[int, int]]  # line, 1 or -1
    constant: int
    clear: bool


class _Labels:
    """Lines of all labels, and what is assigned."""

    def __init__(self, source: Source) -> None:
        self.lines = {s.word: line for line, s in enumerate(source.statements) if s.kind == Kind.LABEL}
        self.assigned = {s.word for s in source.statements if s.kind == Kind.ASSIGNMENT}
        self.in_code = {name for name, line in self.lines.items() if source.sections[line].startswith("x")}


def _expression(operand: str, labels: _Labels) -> _Expression:
    """What an operand adds to labels."""
    text = _BY_REGISTERS.sub("", operand).strip(" \t*")
    clear = _SUM.fullmatch(text) is not None
    named, constant = [], 0
    for way, word in _TERM.findall(text):
        sign = -1 if way == "-" else 1
        if (label := labels.lines.get(word)) is not None:
            named.append((label, sign))
        elif word[0].isdigit():
            value = _number(word)
            clear &= value is not None
            constant += sign * (value or 0)
        else:
            clear &= word not in labels.assigned
    return _Expression(named, constant, clear)


def _number(token: str) -> int | None:
    """The value of a number of a compiler; None for another one."""
    try:
        return int(token, 0)
    except ValueError:
        return None


def _naming(source: Source, line: int) -> bool:
    """Whether a line may name labels of code."""
    statement, section = source.statements[line], source.sections[line]
    if statement.kind in (Kind.DIRECTIVE, Kind.ASSIGNMENT):
        is_apart = section.startswith(".gcc_except_table") or DEBUG_SECTION.match(section)
        return statement.word not in _SILENT and not is_apart
    is_jump = statement.word[:1] == "j" or statement.word.startswith(("call", "loop", "xbegin"))
    return statement.kind == Kind.OPAQUE or (
        statement.kind == Kind.INSTRUCTION and not (is_jump and "*" not in statement.operands)
    )


def _table(source: Source, line: int, labels: _Labels) -> tuple[Table, list[int]] | None:
    """The table of a switch at a label, and the lines of the labels that it leads to."""
    name, targets, size = source.statements[line].word, [], 0
    for below in range(line + 1, len(source.statements)):
        statement = source.statements[below]
        if statement.kind == Kind.COMMENT:
            continue
        width = _ENTRY.get(statement.word, 0) if statement.kind == Kind.DIRECTIVE else 0
        target, _, base = statement.operands.partition("-")
        label = labels.lines.get(target.strip())
        if not width or label is None or base.strip() not in ("", name) or (size and size % width):
            break
        targets.append(label)
        size += width
    return (Table(line, size), targets) if targets else None


class _Owners:
    """Which function each line is in, and whether it may jump by a table."""

    def __init__(self, source: Source) -> None:
        self._functions: list[Function] = list(functions(source))
        self._first = [function.first for function in self._functions]
        self._names = [_name(source, function) for function in self._functions]
        self._jumps = [
            any("jmp" in s.text and _INDIRECT.search(s.text) for s in source.statements[function.first : function.last])
            for function in self._functions
        ]

    def of(self, line: int) -> str | None:
        """The name of the function of a line, which its cold part shares; None outside of functions."""
        place = bisect_left(self._first, line + 1) - 1
        return self._names[place] if place >= 0 and line < self._functions[place].last else None

    def jumps(self, line: int) -> bool:
        """Whether the function of a line has an indirect jump."""
        place = bisect_left(self._first, line + 1) - 1
        return place >= 0 and self._jumps[place]


def _name(source: Source, function: Function) -> str:
    around = source.statements[max(function.first - 8, 0) : function.first + 4]
    names = [s.word for s in around if s.kind == Kind.LABEL and not s.word.startswith(".L") and not s.word.isdigit()]
    return names[-1].partition(".cold")[0] if names else f"line {function.first}"


def names(source: Source) -> Names:
    """What a text names, apart from tables of switches."""
    labels = _Labels(source)
    is_code = [section.startswith("x") for section in source.sections]
    uses: dict[int, list[int]] = defaultdict(list)  # line of a label in data -> lines that name it
    rows: list[tuple[int, _Expression]] = []
    for line, statement in enumerate(source.statements):
        if statement.kind < Kind.INSTRUCTION or not _naming(source, line):
            continue
        text = statement.text if statement.kind == Kind.OPAQUE else statement.operands
        if labels.lines.keys().isdisjoint(_WORD.findall(text)):
            continue
        for operand in re.split("[,;]", _BY_REGISTERS.sub("", text)):
            expression = _expression(operand, labels)
            if expression.labels:
                rows.append((line, expression))
                for label, _ in expression.labels:
                    if not is_code[label] or statement.kind == Kind.INSTRUCTION:
                        uses[label].append(line)
    writable = _writable(source)
    exempt, tables = _tables(source, labels, uses, writable)
    places: dict[tuple[int, int], None] = dict.fromkeys((line, 0) for line in _assignments(source, labels, is_code))
    unclear: dict[int, None] = {}
    changeable: set[int] = set()
    for line, expression in rows:
        targets = [(label, sign) for label, sign in expression.labels if is_code[label]]
        if source.sections[line] in writable:
            changeable.update(label for label, _ in targets)
        for label, sign in targets if line not in exempt else ():
            if expression.clear:
                places[label, sign * expression.constant] = None
            else:
                unclear[label] = None
    if _is_beside(source):
        unclear |= {labels.lines[name]: None for name in sorted(labels.in_code)}
    return Names(list(places), list(unclear), tables, _inline(source, is_code), sorted(changeable))


def _writable(source: Source) -> frozenset[str]:
    """Names of the sections of data that code may write; what only the loader writes is constant."""
    flags = (_FLAGS.match(s.operands) for s in source.statements if s.word in (".section", ".pushsection"))
    declared = {match.group(1) for match in flags if match is not None and "w" in match.group(2)}
    names = {name for name in {*source.sections, *declared} if name in declared or name.startswith(_WRITTEN)}
    return frozenset(name for name in names if not name.startswith(".data.rel.ro"))


def _inline(source: Source, is_code: list[bool]) -> list[int]:
    """Lines of inline assembly in code; none if no inline assembly gives names to places."""
    lines = [k for k, s in enumerate(source.statements) if s.kind == Kind.OPAQUE and s.text and source.inline[k]]
    defines = any(_DEFINING.search(source.statements[k].text) for k in lines)
    return [k for k in lines if is_code[k]] if defines else []


def _is_beside(source: Source) -> bool:
    """Whether inline assembly names some place beside a label by a distance, which the object does not show."""
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.OPAQUE and "-" in statement.text and _naming(source, line):
            for part in statement.text.split(";"):
                match = _DATA.search(part)
                for operand in match.group(1).split(",") if match else ():
                    words = [word for word in _WORD.findall(operand) if not _LOCAL.fullmatch(word)]
                    if "-" in operand and any(word.lstrip("$")[:1].isdigit() for word in words):
                        return True
    return False


def _assignments(source: Source, labels: _Labels, is_code: list[bool]) -> Iterator[int]:
    """Lines of assignments that give a place in code a name which the object does not show."""
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.ASSIGNMENT and statement.word.startswith(".L"):
            words = set(_WORD.findall(statement.operands))
            if ("." in words and is_code[line]) or words & (labels.in_code | labels.assigned):
                yield line


def _tables(
    source: Source, labels: _Labels, uses: dict[int, list[int]], writable: frozenset[str]
) -> tuple[set[int], list[Table]]:
    """Lines of the entries of tables of switches, and the tables.

    The functions that name such a table are those of its labels, have an indirect jump, and nothing else names it. No
    code can write to it.
    """
    owners = _Owners(source)
    exempt: set[int] = set()
    tables: list[Table] = []
    exported = {s.operands.strip() for s in source.statements if s.word in (".globl", ".global", ".weak")}
    for label, lines in uses.items():
        if source.statements[label].word in exported or source.sections[label] in writable:
            continue
        if (read := _table(source, label, labels)) is None:
            continue
        table, targets = read
        entries = {k for k in range(label + 1, label + 1 + _span(source, label, table))}
        users = [line for line in lines if line not in entries]
        names_of_users = {owners.of(line) for line in users}
        if (
            users
            and None not in names_of_users
            and all(source.statements[line].kind == Kind.INSTRUCTION and owners.jumps(line) for line in users)
            and {owners.of(target) for target in targets} <= names_of_users
        ):
            exempt |= entries
            tables.append(table)
    return exempt, tables


def _span(source: Source, label: int, table: Table) -> int:
    """Lines below its label that a table takes."""
    size, line = 0, label
    while size < table.size:
        line += 1
        statement = source.statements[line]
        size += _ENTRY.get(statement.word, 0) if statement.kind == Kind.DIRECTIVE else 0
    return line - label
