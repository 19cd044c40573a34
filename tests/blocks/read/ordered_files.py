"""Reads a file as the verb `order` does, writes it in random legal orders, and proves that nothing else has changed.

A fault is: an exception other than Unreadable, an order that is not provably legal, a refusal without reason or remedy,
and a change of the input.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from learned_schedulers.blocks.dag.conflicts import LONGEST
from learned_schedulers.blocks.dag.memory_order import BlockConflicts, MemoryDags, linked_by_form
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.read import reading
from learned_schedulers.blocks.read.assembler import Refused, object_of
from learned_schedulers.blocks.read.document import CodeBlock, Document, Fault
from learned_schedulers.blocks.read.lines import code_of, with_code
from learned_schedulers.blocks.read.reorder import reordered
from learned_schedulers.blocks.read.unreadable import Unreadable
from tests.blocks.read import moved_code
from tests.trial.damaged_code import SUFFIXES

_LINES = 64  # of a piece
Orders = dict[int, list[int]]
_DATA = re.compile(
    rb"string|ascii|asciz|\w*byte|value|short|long|int|quad|octa|zero|skip|space|fill|org|[us]leb128|float|double|incbin"
    rb"|rept|irp|macro"
)


class Reader:
    """Reads files, writes them in random legal orders, and proves the result."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._dags = MemoryDags("tso")

    def outcome(self, path: Path) -> tuple[str, str]:
        """Name and detail of the outcome of a file. Every exception is a fault."""
        before = hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns
        try:
            name = reading.format_of(path)
            ordered = self._document(name, path) if reading.is_document(name) else self._lines(name, path)
            answer = ("no blocks" if ordered < 0 else "ordered" if ordered else "read, no choice"), ""
        except Unreadable as error:
            answer = "refused", error.reason
            if not (error.reason.strip() and error.remedy.strip()) or "\n" in str(error):
                answer = "fault", f"a refusal without reason or remedy, or of several lines: {error!r}"
        if before != (hashlib.sha256(path.read_bytes()).digest(), path.stat().st_mtime_ns):
            return "fault", "the input was changed"
        return answer

    def _document(self, name: str, path: Path) -> int:
        """Number of blocks in a new order; -1 without blocks. Raises AssertionError where something is not proven."""
        content = path.read_bytes()
        document = reading.document(name, content, path)
        _check_faults(document.faults)
        assert document.rewritten({}) == content, "without orders, the file is another one"
        if not document.blocks:
            return -1
        assert len({block.place for block in document.blocks}) == len(document.blocks), "places are not unique"
        orders = self._orders(document.blocks)
        new_content = document.rewritten(orders)
        _check_faults(document.faults)
        defects = [fault for fault in document.faults if fault.reason.startswith("defect")]
        assert not defects, f"{defects[0].place}: {defects[0].reason}"
        if not orders:
            assert new_content == content, "without orders, the file is another one"
            return 0
        if name == "assembly":
            assert _lines_of_code(new_content) == _lines_of_code(content), "other lines of assembly"
            if not _has_data_in_code(content):
                moved_code.check_assembled(*map(_object_of, (content, new_content)))
        elif name == "elf":
            moved_code.check(content, new_content, document.blocks, orders)
        else:
            moved_code.check_archive(content, new_content, document.blocks, orders)
        _read_again(name, new_content, path)
        return len(orders)

    def _orders(self, blocks: Sequence[CodeBlock]) -> Orders:
        """A random legal order of each block that has another one than its own, by the index of the block."""
        assert all(len(block.marks) >= 2 for block in blocks), "a block of fewer than two instructions"
        chosen = [k for k, block in enumerate(blocks) if len(block.marks) <= LONGEST]
        read = self._dags.conflicts([blocks[k].code for k in chosen], [blocks[k].marks for k in chosen])
        drawn = zip(chosen, self._drawn(read), strict=True)
        return {k: order for k, order in drawn if order != sorted(order)}

    def _drawn(self, read: BlockConflicts) -> Iterator[list[int]]:
        for block, n in enumerate(np.diff(read.first).tolist()):
            precedes = np.zeros((1, n, n), bool)
            edges = slice(*read.conflicts.offsets[block : block + 2].tolist())
            precedes[0, read.conflicts.before[edges], read.conflicts.after[edges]] = True
            yield random_ready(precedes, self._rng)[0].tolist()

    def _lines(self, name: str, path: Path) -> int:
        """The same for a file of lines, or one that becomes lines."""
        count, n_ordered = 0, 0
        lines: list[bytes] = []
        with path.open("rb") as file:
            for piece in reading.pieces(name, file, _LINES):
                lines += piece
                blocks, changed = self._check_lines(piece)
                count, n_ordered = count + blocks, n_ordered + changed
        if name == reading.LINES:
            assert b"".join(lines) == path.read_bytes(), "lines are lost"
        return n_ordered if count else -1

    def _check_lines(self, lines: list[bytes]) -> tuple[int, int]:
        """Numbers of blocks, and of those in a new order."""
        answers = [code_of(line) for line in lines]
        _check_faults([answer._replace(place="line") for answer in answers if isinstance(answer, Fault)])
        coded = [(line, code) for line, code in zip(lines, answers, strict=True) if isinstance(code, bytes) and code]
        good = self._blocks([code for _, code in coded])
        coded = [coded[k] for k in good]
        blocks = [
            CodeBlock(f"line {k}", code, good[n]) for n, (k, (_, code)) in zip(good, enumerate(coded), strict=True)
        ]
        orders = self._orders(blocks)
        moved = {k: self._moved(blocks[k].code, order) for k, order in orders.items()}
        for k, new_code in moved.items():
            if new_code is None:
                continue
            order, old_line = orders[k], coded[k][0]
            line = with_code(old_line, new_code)
            assert len(line) == len(old_line), f"{line[:80]!r}: another length"
            assert line.partition(b",")[1:] == old_line.partition(b",")[1:], f"{line[:80]!r}: other columns"
            code = code_of(line)
            assert isinstance(code, bytes), f"{line[:80]!r}: no code"
            moved_code.compare(blocks[k].code, code, order)
        return len(blocks), len(orders)

    def _blocks(self, codes: list[bytes]) -> Mapping[int, bytes]:
        """Numbers of codes that are basic blocks of 2 to 64 instructions -> their marks."""
        bounds = np.cumsum([0, *map(len, codes)])
        code = np.frombuffer(b"".join(codes), np.uint8)
        decoded = self._dags.forms.decode(code, bounds[:-1], bounds[1:])
        facts = self._dags.forms.facts
        marks = linked_by_form(code, bounds[:-1], decoded, facts).tobytes()
        first = decoded.first.tolist()
        plain = facts[decoded.form]["valid"] & ~facts[decoded.form]["control"]
        return {
            k: marks[first[k] : first[k + 1]]
            for k in range(len(codes))
            if decoded.whole[k] and 2 <= first[k + 1] - first[k] <= LONGEST and plain[first[k] : first[k + 1]].all()
        }

    def _moved(self, code: bytes, order: list[int]) -> bytes | None:
        """The code in another order; None if a distance does not fit."""
        array, begin = np.frombuffer(code, np.uint8), np.zeros(1, np.int64)
        decoded = self._dags.forms.decode(array, begin, np.array([len(code)]))
        moved, fits = reordered(array, begin, decoded, self._dags.forms.facts, np.array(order))
        return moved.tobytes() if fits.all() else None


def _read_again(name: str, content: bytes, path: Path) -> Document:
    try:
        return reading.document(name, content, path)
    except Unreadable as error:
        raise AssertionError(f"the new file is refused: {error}") from error


def _has_data_in_code(assembly: bytes) -> bool:
    """Whether sections of code hold data, which would be decoded as instructions."""
    in_code = True
    for line in assembly.split(b"\n"):
        match = re.match(rb"\s*\.(\w+)(.*)", line)
        if match is None:
            continue
        if match[1] in (b"text", b"popsection", b"previous", b"subsection"):
            in_code = True
        elif match[1] in (b"section", b"pushsection", b"data", b"bss"):
            in_code = re.search(rb'"\w*x', match[2]) is not None or b".text" in match[2]
        elif in_code and _DATA.fullmatch(match[1]):
            return True
    return False


def _object_of(assembly: bytes) -> bytes:
    """The object of a text in AT&T's syntax, or in Intel's."""
    try:
        return object_of(assembly)
    except Refused:
        return object_of(assembly, ("-msyntax=intel", "-mnaked-reg"))


def _lines_of_code(assembly: bytes) -> list[bytes]:
    """Sorted lines without those of the line table, of which a new order needs more."""
    return sorted(line for line in assembly.split(b"\n") if not line.lstrip().startswith(b".loc"))


def _check_faults(faults: Sequence[Fault]) -> None:
    for fault in faults:
        whole = fault.place.strip() and fault.reason.strip() and fault.remedy.strip()
        assert whole and "\n" not in "".join(fault), f"a fault without place, reason or remedy: {fault}"


def check_sound(sound: Mapping[str, Sequence[bytes]], folder: Path) -> Counter[str]:
    """Read the sound files, which must have blocks with another order. Returns the number of ordered files by kind."""
    reader, counts = Reader(0), Counter(dict.fromkeys(sound, 0))
    for kind, contents in sound.items():
        for content in contents:
            path = folder / f"sound{SUFFIXES[kind]}"
            path.write_bytes(content)
            name, detail = reader.outcome(path)
            assert name in ("ordered", "read, no choice"), f"a sound file of kind {kind}: {name} {detail}"
            counts[kind] += name == "ordered"
        assert counts[kind], f"no sound file of kind {kind} has a block with another order"
    return counts
