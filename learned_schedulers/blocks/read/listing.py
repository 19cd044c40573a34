"""The machine code of each line of an assembly file, told by the assembler itself.

Labels are put around every statement that may be an instruction, and the text is assembled. Their values tell the
bytes of the statement. A statement counts as an instruction only if its bytes are exactly one, of 64-bit code, and if
the labels changed nothing in the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from learned_schedulers.blocks.read.assembler import GROUP, Assembled, assemble, relocation_types
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.joined_code import SHIFT, JoinedCode
from learned_schedulers.blocks.read.statements import Kind, Source

# Relocations of single instructions (System V psABI, table 4.9), by number. The linker may change an instruction that
# has one of these, alone. The others belong to sequences of instructions, or depend on the instruction's address.
_VALUES = (1, 3, 10, 11, 12, 14, 17, 18, 21, 23, 25, 27, 30, 31, 32, 33)  # the value is the same at any address
_RIP_RELATIVE = (2, 4, 9, 22, 41, 42)  # PC32, PLT32, GOTPCREL, GOTTPOFF, GOTPCRELX, REX_GOTPCRELX
_FULL_PREFIXES = np.zeros(256, bool)
_FULL_PREFIXES[[0x66, 0x67, 0xF0, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, *range(0x40, 0x50)]] = True
_DIGITS = 8


@dataclass(frozen=True)
class Listing:
    """The C statements of a file that are instructions, in the order of the text. Arrays have one entry for each."""

    line: np.ndarray  # int64, index of the line
    section: np.ndarray  # int64, index of the section in the object
    begin: np.ndarray  # int64, offset in the section
    end: np.ndarray  # int64
    form: np.ndarray  # int32, row of `forms.facts`
    linked: np.ndarray  # bool: a relocation fills in its displacement
    relocated: np.ndarray  # bool: it has a relocation
    movable: np.ndarray  # bool: it may move, as far as its bytes and relocations tell
    forms: Forms
    object: Assembled  # of the text as it is
    joined: JoinedCode  # of `object`
    places: dict[int, tuple[int, int]]  # line of a label or an assignment whose place is wanted -> section, offset

    def code(self, index: int) -> bytes:
        """The bytes of an instruction."""
        content = self.object.sections[int(self.section[index])].content
        return content[int(self.begin[index]) : int(self.end[index])]

    @cached_property
    def branches(self) -> tuple[np.ndarray, np.ndarray]:
        """All direct branches inside sections of code: keys of their ends, and of their targets; by target."""
        return _branches(self)


class NotUnderstood(ValueError):
    """Labels between the statements change what the text means; no statement may be trusted."""


def _prefix(text: str) -> str:
    return next(name for k in count() if (name := f"statement{k}_") not in text)


def _labelled(source: Source, prefix: str, place_lines: Sequence[int]) -> tuple[bytes, np.ndarray]:
    """The text with labels before and after each statement, and the lines of these; and labels for other lines."""
    lines = list(source.lines)
    candidates = [k for k, statement in enumerate(source.statements) if statement.kind == Kind.INSTRUCTION]
    for number, line in enumerate(candidates):
        name = f"{prefix}{number:0{_DIGITS}d}"
        lines[line] = f"{name}a: {source.statements[line].text}; {name}b:\n"
    for number, line in enumerate(place_lines):
        name = f"{prefix}{number:0{_DIGITS}d}c"
        if source.statements[line].kind == Kind.LABEL:
            lines[line] = f"{name}:\n{lines[line]}"
        else:
            end = "" if lines[line].endswith("\n") else "\n"
            lines[line] = f"{lines[line]}{end}{name} = {source.statements[line].word}\n"
    return "".join(lines).encode("latin-1"), np.array(candidates, np.int64)


def _label_values(labelled: Assembled, prefix: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sections and values of the labels, (3, n): before and after each statement, of lines; section 0 without one."""
    lead = np.frombuffer(prefix.encode(), np.uint8)
    strings = np.r_[labelled.strings, np.zeros(len(lead) + _DIGITS + 2, np.uint8)]
    starts = labelled.symbols["name"].astype(np.int64)
    rows = np.flatnonzero(np.all(strings[starts[:, None] + np.arange(len(lead))] == lead, axis=1))
    text = strings[starts[rows][:, None] + len(lead) + np.arange(_DIGITS + 1)].astype(np.int64)
    number = (text[:, :_DIGITS] - ord("0")) @ (10 ** np.arange(_DIGITS - 1, -1, -1))
    side = text[:, _DIGITS] - ord("a")
    section, value = np.zeros((3, n), np.int64), np.zeros((3, n), np.int64)
    section[side, number] = labelled.symbols["section"][rows]
    value[side, number] = labelled.symbols["value"][rows].astype(np.int64)
    return section, value, rows


def _equal(plain: Assembled, labelled: Assembled, n_labels: int) -> bool:
    """Whether the labels are the only difference."""
    if plain.sections.keys() != labelled.sections.keys():
        return False
    # An object without symbols has no table of them; otherwise the table begins with an empty entry.
    if max(len(plain.symbols), 1) + n_labels != max(len(labelled.symbols), 1):
        return False
    for index, section in plain.sections.items():
        other = labelled.sections[index]
        if (section.shape, section.size) != (other.shape, other.size):
            return False
        if section.content != other.content and section.shape[1] != GROUP:
            return False
        if any(not np.array_equal(section.relocations[f], other.relocations[f]) for f in ("offset", "addend")):
            return False
    return True


def _follows_prefix(code: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Whether bytes that are no part of an instruction, and may be prefixes of it, come before it; (n,) bool."""
    covered = np.zeros(len(code) + 1, np.int64)
    np.add.at(covered, begin, 1)
    np.add.at(covered, end, -1)
    inside = np.cumsum(covered) > 0
    before = np.maximum(begin - 1, 0)
    return (begin > 0) & ~inside[before] & _FULL_PREFIXES[code[before]]


def _instructions(code: np.ndarray, begin: np.ndarray, end: np.ndarray, forms: Forms) -> tuple[np.ndarray, np.ndarray]:
    """Whether each range of `code` is exactly one instruction, and its form; (n,) bool, (n,) int32."""
    decoded = forms.decode(code, begin, end)
    alone = decoded.whole & (np.diff(decoded.first) == 1)
    form = np.zeros(len(begin), np.int32)
    form[alone] = decoded.form[decoded.first[:-1][alone]]
    alone &= forms.facts["valid"][form]
    alone[alone] &= ~_follows_prefix(code, begin[alone], end[alone])
    return alone, form


def _relocation_facts(
    listing_begin: np.ndarray, listing_end: np.ndarray, facts: np.ndarray, relocations: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of instructions at ascending positions: linked, relocated, and whether all relocations let it move."""
    linked, relocated = np.zeros((2, len(listing_begin)), bool)
    free = np.ones(len(listing_begin), bool)
    if not len(listing_begin):
        return linked, relocated, free
    offset = relocations["offset"].astype(np.int64)
    kind = relocation_types(relocations)
    owner = np.searchsorted(listing_begin, offset, "right") - 1
    valid = (owner >= 0) & (offset < listing_end[owner])
    owner, offset, kind = owner[valid], offset[valid], kind[valid]
    fact = facts[owner]
    at_displacement = (fact["displacement_bytes"] >= 4) & (
        offset == listing_begin[owner] + fact["displacement_at"].astype(np.int64)
    )
    at_immediate = (fact["immediate_bytes"] > 0) & (
        offset == listing_begin[owner] + fact["immediate_at"].astype(np.int64)
    )
    rip_relative = fact["rip_relative"] & at_displacement
    expected = (np.isin(kind, _VALUES) & ~rip_relative & (at_displacement | at_immediate)) | (
        np.isin(kind, _RIP_RELATIVE) & rip_relative
    )
    linked[owner[at_displacement]] = True
    relocated[owner] = True
    free[owner[~expected]] = False
    return linked, relocated, free


def listing(source: Source, options: tuple[str, ...] = (), place_lines: Sequence[int] = ()) -> Listing:
    """Machine code of the statements of a text. place_lines: of labels and assignments whose places are wanted.

    Raises assembler.Refused if the text is no assembly, NotUnderstood, and Unreadable as the assembler does.
    """
    plain = assemble("".join(source.lines).encode("latin-1"), options)
    prefix = _prefix("".join(source.lines))
    text, line = _labelled(source, prefix, place_lines)
    labelled = assemble(text, options) if len(line) or place_lines else plain
    section, value, rows = _label_values(labelled, prefix, max(len(line), len(place_lines)))
    places = {k: (s, v) for k, s, v in zip(place_lines, section[2].tolist(), value[2].tolist(), strict=False)}
    section, value = section[:, : len(line)], value[:, : len(line)]
    if not _equal(plain, labelled, len(rows)):
        raise NotUnderstood("the text means something else when labels stand between its statements")
    executable = np.zeros(1 << 16, bool)
    executable[[index for index, part in plain.sections.items() if part.executable]] = True
    usable = (section[0] == section[1]) & executable[section[0]] & (value[0] < value[1])
    line, section, begin, end = line[usable], section[0][usable], value[0][usable], value[1][usable]
    forms, joined = Forms(), JoinedCode.of(plain)
    alone, form = np.zeros(len(line), bool), np.zeros(len(line), np.int32)
    linked, relocated, free = np.zeros((3, len(line)), bool)
    begins, ends = joined.position(section, begin), joined.position(section, end)
    rows = np.argsort(begins, kind="stable")  # subsections come later in the section than in the text
    alone[rows], form[rows] = _instructions(joined.content, begins[rows], ends[rows], forms)
    rows = rows[alone[rows]]
    linked[rows], relocated[rows], free[rows] = _relocation_facts(
        begins[rows], ends[rows], forms.facts[form[rows]], joined.relocations
    )
    movable = free & forms.facts["plain"][form]
    keep = np.flatnonzero(alone)
    return Listing(
        line[keep], section[keep], begin[keep], end[keep], form[keep], linked[keep], relocated[keep], movable[keep],
        forms, plain, joined, places,
    )  # fmt: skip


def _branches(part: Listing) -> tuple[np.ndarray, np.ndarray]:
    joined = part.joined
    code, begin = joined.content, joined.position(part.section, part.begin)
    rows = np.argsort(begin, kind="stable")
    begin, end, form = begin[rows], begin[rows] + (part.end - part.begin)[rows], part.form[rows]
    gap_begin, gap_end = joined.gaps(begin, end)  # of the bytes between instructions that are understood
    decoded = part.forms.decode(code, gap_begin, gap_end)
    facts = part.forms.facts
    within = np.cumsum(facts["length"][decoded.form].astype(np.int64))
    base = np.repeat(gap_begin - np.r_[0, within][decoded.first[:-1]], np.diff(decoded.first))
    all_end, all_form = np.r_[end, base + within], np.r_[form, decoded.form]
    sizes = facts["branch_bytes"][all_form]
    ends, targets = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for size in (1, 2, 4):
        last = all_end[sizes == size]
        last = last[~np.isin(last - size, joined.relocations["offset"].astype(np.int64))]
        raw = np.ascontiguousarray(code[(last - size)[:, None] + np.arange(size)])
        ends.append(last)
        targets.append(last + raw.view(f"<i{size}")[:, 0])
    all_ends, all_targets = np.concatenate(ends), np.concatenate(targets)
    number = joined.number(all_ends - 1)
    key = (joined.section[number] << SHIFT) - joined.first[number]
    order = np.argsort(key + all_targets, kind="stable")
    return (key + all_ends)[order], (key + all_targets)[order]
