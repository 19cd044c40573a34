"""One program, ordered at random in every format, built and run: what is different, what was refused, what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.own_generated import building
from benchmarks.own_generated.building import Plain, Program, Ran
from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from learned_schedulers.blocks.order.file_orders import Orders, joined, propose
from learned_schedulers.blocks.order.orderer import Orderer
from learned_schedulers.blocks.read import reading
from learned_schedulers.blocks.read.document import Document
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.command.bisect import boundary

FORMATS = ("assembly", "object", "program", "archive")
_PLACES = re.compile(r"0x[0-9a-f]+|\d+|`[^`]*`|'[^']*'|\.[\w.$]+")  # what makes equal reasons differ
Mapped = Mapping[int, Sequence[int]]


class Difference(NamedTuple):
    """An ordered build that is wrong."""

    format: str
    seed: int
    shown: str  # what is different, in short
    place: str  # of the block that makes it wrong
    order: tuple[int, ...]


@dataclass
class OfFormat:
    """What became of a program in one format."""

    refused: str = ""  # the reason
    crash: str = ""  # an error of the command that is no message for its user
    blocks: int = 0
    changed: int = 0  # blocks that at least one seed changes
    orders: int = 0  # changed blocks of all seeds
    left_alone: Counter[str] = field(default_factory=Counter)  # reasons
    defects: Counter[str] = field(default_factory=Counter)  # what the writer could not prove, and left
    differences: list[Difference] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """For a record."""
        return vars(self) | {"differences": [difference._asdict() for difference in self.differences]}


@cache
def orderer(memory: MemoryOrder, seed: int) -> Orderer:
    """That of `order --by random_legal --memory MEMORY --seed SEED`; what it has learned of forms stays."""
    return Orderer("random_legal", "skylake", memory, seed=seed)


def orders_of(document: Document, memory: MemoryOrder, seed: int) -> Orders:
    """Random legal orders, as the command proposes them."""
    return joined([part for _, part in propose(document, orderer(memory, seed))])


def general(reason: str) -> str:
    """A reason without the names and numbers in it, so that reasons can be counted."""
    return " ".join(_PLACES.sub("*", reason.split(";")[0]).split())[:120]


class Trial:
    """A program's plain build, and its ordered ones. Raises Unbuilt if there is no plain build that runs."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.plain: Plain = building.plain(program, folder)
        self.inputs = dict(zip(FORMATS, self.plain[:4], strict=True))

    def document(self, form: str) -> Document:
        """The program in a format, as the command reads it. Raises Unreadable."""
        path = self.inputs[form]
        return reading.document(reading.format_of(path), path.read_bytes(), path)

    def ordered(self, form: str, seeds: Sequence[int]) -> OfFormat:
        """Order, build and run one format by several seeds."""
        answer = OfFormat()
        try:
            document = self.document(form)
        except Unreadable as error:
            answer.refused = general(error.reason)
            return answer
        answer.blocks = len(document.blocks)
        answer.left_alone.update(general(fault.reason) for fault in document.faults)
        changed: set[str] = set()
        for seed in seeds:
            orders = orders_of(document, self.program.memory, seed)
            if not orders.changes:
                continue
            before = len(document.faults)
            content = document.rewritten(orders.as_mapping())
            answer.defects.update(general(fault.reason) for fault in document.faults[before:])
            unproven = {fault.place for fault in document.faults[before:]}
            written = {change.place for change in orders.changes} - unproven
            answer.orders += len(written)
            changed |= written
            if wrong := self.wrong(form, content):
                answer.differences.append(self._bisected(form, seed, document, orders, wrong))
        answer.changed = len(changed)
        return answer

    def shown(self, form: str, content: bytes, seconds: float) -> Ran:
        """What the program prints if one of its files has other content. seconds: that it may run."""
        path = self.folder / f"ordered{self.inputs[form].suffix}"
        path.write_bytes(content)
        try:
            if form == "assembly":
                path = building.assemble(path)
            if form != "program":
                building.link(self.program, path, self.folder / "ordered")
        except building.Unbuilt as error:
            return Ran(building.TIMED_OUT + 1, str(error).encode())
        executable = self.folder / "ordered"
        executable.chmod(0o755)
        return building.run(executable, seconds)

    def wrong(self, form: str, content: bytes, seconds: float = building.SECONDS) -> str:
        """How the program differs if one of its files has other content; empty if it does not."""
        shown = self.shown(form, content, seconds)
        if shown != self.plain.shown:
            return _short(self.plain.shown, shown)
        if form == "assembly" and regions(content) != regions(self.program.text):
            return "a marked region has other instructions"
        return ""

    def _bisected(self, form: str, seed: int, document: Document, orders: Orders, wrong: str) -> Difference:
        """The block that makes a build wrong, as the verb `bisect` finds it."""

        def passes(limit: int) -> bool:
            first = orders._replace(changes=orders.changes[:limit])
            return not self.wrong(form, document.rewritten(first.as_mapping()))

        if not passes(0):
            return Difference(form, seed, wrong, "without any change", ())
        if passes(len(orders.changes)):
            return Difference(form, seed, wrong, "not again", ())
        change = orders.changes[boundary(passes, len(orders.changes))]
        return Difference(form, seed, wrong, change.place, change.order)


def _short(before: Ran, after: Ran) -> str:
    """How two runs differ."""
    if after.code != before.code:
        return f"exit code {after.code}, not {before.code}: {after.output[-80:].decode('utf-8', 'replace')!r}"
    pairs = zip(before.output.splitlines(), after.output.splitlines(), strict=False)
    first = next((f"{a.decode()[:60]} -> {b.decode()[:60]}" for a, b in pairs if a != b), "another length")
    return f"output: {first}"


def regions(text: bytes) -> list[list[bytes]]:
    """The instructions between the marks of a tool for the analysis of code, sorted, for each region of a text."""
    parts: list[list[bytes]] = []
    inside: list[bytes] | None = None
    for line in map(bytes.strip, text.splitlines()):
        mark = _mark(line)
        if mark and inside is None:
            inside = []
        elif mark and inside is not None:
            parts.append(sorted(inside))
            inside = None
        elif inside is not None:
            inside.append(line)
    return parts


def _mark(line: bytes) -> bool:
    return bool(re.fullmatch(rb"# (LLVM-MCA|OSACA)-(BEGIN|END).*|movl \$(111|222), %ebx", line))
