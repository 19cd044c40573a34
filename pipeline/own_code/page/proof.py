"""Ordered files put to the proof: blocks run in both orders, assembly debugged, mutated files (frozen)."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.names import mode, spelt
from pipeline.lab.page.numbers import count, percent, share
from pipeline.lab.page.tables import Column, Line, lines, metric, of, table, value
from pipeline.own_code.page.worth import METHODS

BLOCKS, ASSEMBLY, MUTATIONS = "own_blocks", "own_assembly", "own_mutations"
ALL = "all"
RANDOM, BROKEN = "random", "broken"  # controls, beside the methods
_FORMATS = {
    "lines": "lines of CSV",
    "csv": "lines of CSV",
    "elf": "ELF objects and programs",
    "sql": "SQL dumps",
    "data": "Ithemal's `.data`",
}


def format_label(name: str) -> str:
    """A format's name: `csv` -> `lines of CSV`, `all` -> `**all**`."""
    return f"**{ALL}**" if name == ALL else _FORMATS.get(name, spelt(name))


def level_label(name: str) -> str:
    """A set of assembly files: a level of optimisation as GCC's option, `O2` -> `-O2`."""
    return f"`-{name}`" if name.startswith("O") else format_label(name)


def method_label(name: str) -> str:
    """A method as in `--by`; `all` in bold."""
    return f"**{ALL}**" if name == ALL else mode(name)


FILES: Column = ("Files", value(count, "files"))
RUN: list[Column] = [
    ("Blocks from", of("set", format_label)),
    ("Method", of("method", method_label)),
    ("Blocks", value(count, "blocks")),
    ("Changed", value(count, "blocks_changed")),
    ("Run", value(count, "blocks_run")),
    ("Cannot be run", value(count, "blocks_that_cannot_run")),
    ("Different", value(count, "blocks_that_differ")),
]
CONTROLS: list[Column] = [
    ("Blocks from", of("set", format_label)),
    ("Random legal orders: changed", value(count, "blocks_changed", method=RANDOM)),
    ("Run", value(count, "blocks_run", method=RANDOM)),
    ("Different", value(count, "blocks_that_differ", method=RANDOM)),
    ("One dependency reversed: run", value(count, "blocks_run", method=BROKEN)),
    ("Detected", value(percent, "share_detected", method=BROKEN)),
]
DEBUGGED: list[Column] = [
    ("Compiled with", of("set", level_label)),
    FILES,
    ("Fail in any test", value(count, "files_that_fail")),
    ("Wrong lines", value(count, "lines_wrong")),
    ("Wrong backtraces", value(count, "backtraces_wrong")),
    ("Exceptions not caught", value(count, "exceptions_not_caught")),
    ("Variable locations that change", metric(share, "variable_locations_changed")),
]
MUTATED: list[Column] = [
    ("Format", of("set", format_label)),
    FILES,
    ("Crashes", value(count, "crashes")),
    ("Hangs", value(count, "hangs")),
    ("Partial or wrong outputs", value(count, "wrong_outputs")),
    ("Changed inputs", value(count, "changed_inputs")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; each is empty if its benchmark was not run."""
    rows = evidence.of(BLOCKS)
    is_control = rows["method"].isin((RANDOM, BROKEN))
    run = lines(rows[~is_control], ["set", "method"], {"method": METHODS})
    return {
        "run": table(RUN, _all_last(run), right=2),
        "controls": table(CONTROLS, lines(rows[is_control], ["set"]), right=1),
        "debugged": table(DEBUGGED, _all_last(lines(evidence.of(ASSEMBLY), ["set"])), right=1),
        "mutated": table(MUTATED, _all_last(lines(evidence.of(MUTATIONS), ["set"])), right=1),
    }


def _all_last(every: list[Line]) -> list[Line]:
    """The lines, with those of all sets and of all methods behind the others."""
    return sorted(every, key=lambda line: (line["set"] == ALL, line["set"], line.place.get("method") == ALL))
