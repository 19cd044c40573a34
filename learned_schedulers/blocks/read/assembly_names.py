"""Labels of an assembly text that something else than a direct jump names: data, aliases, operands, macros.

Whoever has a label's address may look for the instruction there, change it, or jump some bytes beyond it. Tables of
switches, which are constant, are told apart, because a jump by one of their entries leads to the label itself. Ranges
of exceptions (`.gcc_except_table`), those of frames (`.eh_frame`), whose labels no block crosses, and debug information
are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from learned_schedulers.blocks.read.assembly_functions import Function, functions
from learned_schedulers.blocks.read.statements import DEBUG_SECTION, SECTIONS, Kind, Source, Statement

_TOKEN = re.compile(r"%\w+|@\w+|\$?\d\w*|[A-Za-z_.$][\w.$]*|<<|>>|[-+*/%|&^!~()\[\],:']")
_BY_REGISTERS = re.compile(r"\([^()]*%[^()]*\)")  # the part of an AT&T operand that names registers
_WORD = re.compile(r"[\w.]+")
_HEAD = re.compile(r'\s*(?:"?[\w.$]+"?\s*:\s*)+')  # labels before a statement
_ASSIGNED = re.compile(r"\s*\.(?:set|equ|equiv|eqv)\s+([\w.$]+)")
_DATA = re.compile(
    r"\s*\.(?:quad|long|int|hword|short|word|value|byte|octa|[u|s]leb128|[1248]byte|dc(?:\.\w)?|set|equ\w*|eqv)\s(.*)"
)
_LOCAL = re.compile(r"\.L[\w.$]+|\d+[bf]")
_INDIRECT = re.compile(r"\bjmpq?\s+(?:.*[*\[]|r[a-z0-9]+$|\S*(?:indirect_thunk|retpoline|lvi_thunk))")
_JUMP = re.compile(r"\s*(?:[\w.$]+:\s*)*(?:j\w+|call\w?|loop\w*|xbegin)\s")
_SCALED = re.compile(r"\(([^()]*)\)\s*(?:/|>>)\s*\w+\s*")
_NUMERIC = re.compile(r"(\d+)([bf])")
_ENTRY = {".quad": 8, ".8byte": 8, ".xword": 8, ".long": 4, ".4byte": 4, ".int": 4}  # bytes
_SILENT = SECTIONS | {".addrsig", ".addrsig_sym", ".cg_profile", ".string", ".ascii", ".asciz", ".end", ".include"}
_UNNAMED = (".gcc_except_table", ".eh_frame")  # sections whose labels only bound ranges, and what describes frames
_WRITTEN = (".data", ".bss", ".tdata", ".tbss", ".ldata", ".lbss", ".sdata")  # sections that code may write
_FLAGS = re.compile(r'\s*"?([^\s,"]+)"?\s*,\s*"([^"]*)"')  # name and flags of a section
_MULTIPLYING = {"*", "/", "%", "<<", ">>", "|", "&", "^", "!", "~"}


class Table(NamedTuple):
    """A table of a switch: its entries are labels, or their distances from its begin."""

    label: int  # line of its label
    size: int  # bytes


class Names(NamedTuple):
    """What a text names. A line stands for the label or the assignment on it."""

    places: list[tuple[int, int]]  # line, and bytes beyond it that are named
    unclear: list[int]  # lines of labels in expressions of which only the assembler knows the value
    tables: list[Table]
    hidden: list[int]  # lines that are not understood, at which a label stands that something names
    changeable: list[int]  # lines of labels whose addresses stand in data that code names and may write

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


def _hidden(source: Source) -> set[str]:
    """Names that lines which are not understood give to places; of numbers, the references to them."""
    names: set[str] = set()
    for statement in source.statements:
        if statement.kind == Kind.OPAQUE:
            for part in statement.text.split(";"):
                head = _HEAD.match(part)
                for name in _WORD.findall(head.group() if head else ""):
                    names |= {f"{name}b", f"{name}f"} if name.isdigit() else {name}
                if (match := _ASSIGNED.match(part)) is not None:
                    names.add(match.group(1))
    return names


class _Labels:
    """Lines of all labels, and what is assigned."""

    def __init__(self, source: Source) -> None:
        self.lines: dict[str, int] = {}
        self._numeric: dict[str, list[int]] = defaultdict(list)
        self.assigned: set[str] = set()
        for line, statement in enumerate(source.statements):
            if statement.kind == Kind.LABEL and statement.word.isdigit():
                self._numeric[statement.word].append(line)
            elif statement.kind == Kind.LABEL:
                self.lines[statement.word] = line
            elif statement.kind == Kind.ASSIGNMENT:
                self.assigned.add(statement.word)
        self.hidden = _hidden(source)
        self.words = {*self.lines, *(f"{digits}{way}" for digits in self._numeric for way in "bf")}

    def every_line(self) -> list[int]:
        """The lines of all labels, ascending."""
        return sorted([*self.lines.values(), *(line for lines in self._numeric.values() for line in lines)])

    def of(self, token: str, line: int) -> int | None:
        """The line of the label that a token of a line means."""
        if (match := _NUMERIC.fullmatch(token)) is not None:
            lines = self._numeric.get(match.group(1), [])
            place = bisect_left(lines, line) - (match.group(2) == "b")
            return lines[place] if 0 <= place < len(lines) else None
        label_line = self.lines.get(token)
        return self.lines.get(token[1:]) if label_line is None and token[:1] == "$" else label_line


def _operands(text: str) -> list[str]:
    """Operands between commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]


def _expression(operand: str, line: int, labels: _Labels) -> _Expression:
    """What an operand adds to labels."""
    text = _BY_REGISTERS.sub("", operand).lstrip(" \t*")
    if (match := _SCALED.fullmatch(text)) is not None:
        text = match.group(1)  # a distance that is divided
    tokens = _TOKEN.findall(text)
    named, constant, clear, sign, outer = [], 0, True, 1, [1]
    for token in tokens:
        number = token.lstrip("$")
        if token in "+-":
            sign = -sign if token == "-" else sign
            continue
        if token in "([":
            outer.append(outer[-1] * sign)
        elif token in ")]":
            outer = outer[:-1] or [1]
        elif (label := labels.of(token, line)) is not None:
            named.append((label, outer[-1] * sign))
        elif number[:1].isdigit():
            value = _number(number)
            clear &= value is not None
            constant += outer[-1] * sign * (value or 0)
        elif token in _MULTIPLYING or number in labels.assigned or number == "'":
            clear = False
        sign = 1
    return _Expression(named, constant, clear)


def _number(token: str) -> int | None:
    """The value of a number as the assembler reads it; None if it is none, 0 for a label that is not there."""
    if _NUMERIC.fullmatch(token) is not None:
        return 0
    prefix = token[:2].lower()
    base = 16 if prefix == "0x" else 2 if prefix == "0b" else 8 if token[0] == "0" else 10
    try:
        return int(token, base)
    except ValueError:
        return None


def _is_direct_jump(statement: Statement) -> bool:
    return statement.word[:1] == "j" or statement.word.startswith(("call", "loop", "xbegin"))


def _without_jumps(text: str) -> str:
    """What several statements on a line name otherwise than by direct jumps, as operands."""
    return ",".join(part for part in text.split(";") if "*" in part or not _JUMP.match(part))


def _naming(source: Source, line: int) -> bool:
    """Whether a line may name labels of code."""
    statement, section = source.statements[line], source.sections[line]
    if statement.kind in (Kind.DIRECTIVE, Kind.ASSIGNMENT):
        return statement.word not in _SILENT and not section.startswith(_UNNAMED) and not DEBUG_SECTION.match(section)
    return statement.kind == Kind.OPAQUE or (
        statement.kind == Kind.INSTRUCTION and not (_is_direct_jump(statement) and "*" not in statement.operands)
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
        text = statement.operands if statement.kind != Kind.OPAQUE else _without_jumps(statement.text)
        if labels.words.isdisjoint(_WORD.findall(text)):
            continue
        for operand in _operands(text):
            expression = _expression(operand, line, labels)
            if expression.labels:
                rows.append((line, expression))
                for label, _ in expression.labels:
                    if not is_code[label] or statement.kind == Kind.INSTRUCTION:
                        uses[label].append(line)
    hidden = _hidden_places(source, labels, is_code)
    writable = _writable(source)
    exempt, tables = _tables(source, labels, uses, writable)
    changeable = _changeable(source, rows, is_code, uses, writable)
    places: dict[tuple[int, int], None] = {}
    unclear: dict[int, None] = {}
    for line, expression in rows:
        if line in exempt:
            continue
        for label, sign in expression.labels:
            if is_code[label] and expression.clear:
                places[label, sign * expression.constant] = None
            elif is_code[label]:
                unclear[label] = None
    assignments = list(_assignments(source, labels, is_code))
    everywhere = [label for label in labels.every_line() if is_code[label]]
    if hidden.pasted:
        places |= dict.fromkeys((label, 0) for label in everywhere)
    if hidden.offset:
        unclear |= dict.fromkeys(everywhere)
    places |= dict.fromkeys((line, 0) for line in assignments)
    return Names(list(places), list(unclear), tables, hidden.lines, sorted(changeable))


def _writable(source: Source) -> frozenset[str]:
    """Names of the sections of data that code may write; what only the loader writes is constant."""
    flags = (_FLAGS.match(s.operands) for s in source.statements if s.word in (".section", ".pushsection"))
    declared = {match.group(1) for match in flags if match is not None and "w" in match.group(2)}
    names = {name for name in {*source.sections, *declared} if name in declared or name.startswith(_WRITTEN)}
    return frozenset(name for name in names if not name.startswith(".data.rel.ro"))


def _changeable(
    source: Source,
    rows: list[tuple[int, _Expression]],
    is_code: list[bool],
    uses: dict[int, list[int]],
    writable: frozenset[str],
) -> set[int]:
    """Lines of labels of code whose addresses stand in writable data, under a name that is used elsewhere."""
    entries = {
        line: targets
        for line, expression in rows
        if source.sections[line] in writable and (targets := [k for k, _ in expression.labels if is_code[k]])
    }
    heads: dict[str, list[int]] = {}  # section -> lines of the last labels in it, which stand at one place
    filled: set[str] = set()  # sections in which data follow these labels
    changeable: set[int] = set()
    for line, statement in enumerate(source.statements if entries else ()):
        section = source.sections[line]
        has_head = statement.kind == Kind.OPAQUE and _HEAD.match(statement.text) is not None
        if statement.kind == Kind.LABEL or has_head:
            heads[section] = [*(heads.get(section, ()) if section not in filled else ()), line]
            filled.discard(section)
        if statement.kind in (Kind.DIRECTIVE, Kind.OPAQUE) and statement.word not in SECTIONS:
            filled.add(section)
        for head in heads.get(section, ()) if line in entries else ():
            hidden = source.statements[head].kind == Kind.OPAQUE  # nothing is certain of who uses its labels
            if hidden or any(user not in entries for user in uses[head]):
                changeable.update(entries[line])
    return changeable


class _Hidden(NamedTuple):
    """What data name that stands on lines which are not understood, as a distance that the object does not show."""

    lines: list[int]  # such lines; none if no data name such a place
    offset: bool  # some name a place beside a label
    pasted: bool  # a macro makes up the names


def _hidden_places(source: Source, labels: _Labels, is_code: list[bool]) -> _Hidden:
    some = offset = pasted = False
    for line, statement in enumerate(source.statements):
        if statement.kind not in (Kind.DIRECTIVE, Kind.ASSIGNMENT, Kind.OPAQUE) or not _naming(source, line):
            continue
        for part in statement.text.split(";"):
            match = _DATA.match(part[head.end() :] if (head := _HEAD.match(part)) else part)
            for operand in _operands(match.group(1)) if match else ():
                tokens = _TOKEN.findall(operand)
                if "-" not in tokens or "." in tokens:
                    continue  # a relocation shows it
                glued = "\\" in operand or "&" in tokens
                unknown = [
                    t for t in tokens if t in labels.hidden or (_LOCAL.fullmatch(t) and labels.of(t, line) is None)
                ]
                unknown = [token for token in unknown if token not in labels.assigned]
                if glued or unknown:
                    some, pasted = True, pasted or glued
                    offset |= any(token.lstrip("$")[:1].isdigit() and not _LOCAL.fullmatch(token) for token in tokens)
    opaque = [k for k, s in enumerate(source.statements) if s.kind == Kind.OPAQUE and s.text and is_code[k]]
    return _Hidden(opaque if some else [], offset, pasted)


def _assignments(source: Source, labels: _Labels, is_code: list[bool]) -> Iterator[int]:
    """Lines of assignments that may give a place in code a name which the object does not show, or not any more."""
    times = Counter(s.word for s in source.statements if s.kind == Kind.ASSIGNMENT)
    for line, statement in enumerate(source.statements):
        if statement.kind == Kind.ASSIGNMENT and (statement.word.startswith(".L") or times[statement.word] > 1):
            tokens = _TOKEN.findall(statement.operands)
            of_place = "." in tokens and is_code[line]
            of_label = any((label := labels.of(token, line)) is not None and is_code[label] for token in tokens)
            if of_place or of_label or any(token in labels.assigned for token in tokens):
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
