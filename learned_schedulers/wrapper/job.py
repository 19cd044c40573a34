"""Orders one text of a compiler, and says what has become of it. As a program: a text on standard input, once."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from learned_schedulers.blocks.order.file_orders import Change, joined, propose
from learned_schedulers.blocks.order.orderer import Orderer
from learned_schedulers.blocks.order.targets import of_host
from learned_schedulers.blocks.processors import llvm_mca
from learned_schedulers.blocks.read import assembly_file
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.wrapper.client import packed
from learned_schedulers.wrapper.settings import Settings

if TYPE_CHECKING:
    from learned_schedulers.wrapper.record import Facts

_FUNCTION = re.compile(rb"^\t\.type\t([^,\s]+), *@function", re.MULTILINE)
_FUNCTIONS, _FAULTS = 20, 20  # that an answer names


class Job:
    """Orders texts by the same settings."""

    def __init__(self, settings: Settings) -> None:
        """Raises ValueError for settings that no method serves."""
        target = of_host() if settings.target == "host" else settings.target
        confirm = settings.confirm == "yes" or (settings.confirm == "auto" and llvm_mca.find() is not None)
        self._how = {"processor": target, "method": settings.by, "memory": settings.memory, "confirmed": confirm}
        self._orderer = Orderer(
            settings.by,  # type: ignore[arg-type]
            target,  # type: ignore[arg-type]
            settings.memory,  # type: ignore[arg-type]
            seed=settings.seed,
            confirm=confirm,
        )

    def __call__(self, text: bytes) -> tuple[Facts, bytes]:
        """What has become of a text, and the text with its blocks in new orders.

        Each of its `faults` has a function with lines of the compiler's text, a reason, and a remedy.
        """
        try:
            document = assembly_file.read(text, "the compiler's text")
        except Unreadable as error:
            return {"source": _source(text), "blocks": 0, "faults": [["the text", str(error), ""]]}, text
        orders = joined([part for _, part in propose(document, self._orderer, processes=1)])  # a build has jobs enough
        new = document.rewritten(orders.as_mapping())
        defects = {fault.place for fault in document.faults if fault.reason.startswith("defect")}
        changes = [change for change in orders.changes if change.place not in defects]
        functions = _Functions(text)
        faults = [
            [", ".join(filter(None, (functions.at(fault.place), fault.place))), fault.reason, fault.remedy]
            for fault in (*document.faults, *orders.faults)[:_FAULTS]
        ]
        return {
            "source": _source(text),
            "compiler": _compiler(text),
            "how": self._how,
            "blocks": len(document.blocks),
            "statuses": dict(orders.statuses),
            "before": sum(change.before for change in changes if change.before >= 0),
            "after": sum(change.after for change in changes if change.before >= 0),
            "functions": _by_function(functions, changes),
            "faults": faults,
        }, new


def _source(text: bytes) -> str:
    """The file that the compiler has read."""
    match = re.search(rb'^\t\.file\t"([^"\n]*)"', text, re.MULTILINE)
    return match[1].decode(errors="replace") if match else ""


def _compiler(text: bytes) -> str:
    """Its name and version, as it says them: "GCC: (Debian 12.2.0-14) 12.2.0"."""
    match = re.search(rb'^\t\.ident\t"([^"\n]*)"', text[-4000:], re.MULTILINE)
    return match[1].decode(errors="replace") if match else ""


class _Functions:
    """Where the functions of a text begin."""

    def __init__(self, text: bytes) -> None:
        matches = list(_FUNCTION.finditer(text))
        self._names = [match[1].decode(errors="replace") for match in matches]
        self._lines = [text.count(b"\n", 0, match.start()) + 1 for match in matches]

    def at(self, place: str) -> str:
        """The function of the first line of a place; empty if it is in none."""
        line = re.search(r"\d+", place)
        number = bisect_right(self._lines, int(line[0])) - 1 if line else -1
        return self._names[number] if number >= 0 else ""


def _by_function(functions: _Functions, changes: list[Change]) -> dict[str, list[int]]:
    """The functions that gain most: cycles of a single pass of their changed blocks, before and after."""
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    for change in changes:
        name = functions.at(change.place)
        if name and change.before >= 0:
            before[name] += change.before
            after[name] += change.after
    gains = Counter({name: cycles - after[name] for name, cycles in before.items()})
    return {name: [before[name], after[name]] for name, _ in gains.most_common(_FUNCTIONS)}


if __name__ == "__main__":
    sys.stdout.buffer.write(packed(*Job(Settings.of_name(sys.argv[1]))(sys.stdin.buffer.read())))
