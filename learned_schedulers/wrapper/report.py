"""What has become of a project's files: blocks, cycles that the models predict, and what was left alone, and why."""

from __future__ import annotations

import os
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from learned_schedulers.wrapper.build import Build

_FUNCTIONS, _REASONS, _NAMES = 15, 10, 3  # that a report names; names of files that a line has
_WIDTH = 118  # of a terminal's line
_STATUSES = {
    "best": ("blocks without a faster order", "no order with fewer cycles was proposed"),
    "single": ("blocks with one legal order", "their dependencies leave no choice"),
    "unsupported": ("blocks with an instruction that the model does not know", "they stay as they were"),
    "unconfirmed": (
        "blocks whose gain llvm-mca does not confirm",
        "it simulated the proposed order, once and in a loop, and saw no gain or a loss; they stay as they were",
    ),
}
_REMEDIES = {  # of calls that are left to the compiler alone; elsewhere none is needed
    "code is made when all is linked (-flto)": "build without -flto",
    "people have written this assembly": "`learned-schedulers order FILE.s` orders it by itself",
    "an option is not understood": "leave out -specs, -wrapper and long forms such as --compile",
    "it is neither GCC nor Clang for x86-64": "name gcc, g++, clang or clang++",
}
_FAILED = "`learned-schedulers cc --print COMPILER`, with the same options, says what is missing"


class Row(NamedTuple):
    """A line of the summary."""

    number: str
    words: str
    meaning: str


class Function(NamedTuple):
    """A function with changed blocks: cycles of a single pass of each."""

    name: str
    source: str
    objects: str  # the object, or how many have this function with the same cycles
    before: int
    after: int


class Alone(NamedTuple):
    """Why parts were left alone."""

    reason: str
    remedy: str
    files: int
    places: str  # files, functions and lines of the compiler's text; a few of them


class File(NamedTuple):
    """An object with changed blocks."""

    object: str  # below the report's folder
    source: str
    blocks: int
    changed: int
    before: int
    after: int


class Report(NamedTuple):
    """What a page or a terminal shows."""

    project: str
    how: list[tuple[str, str]]  # what the build was asked for: name and value
    summary: list[Row]
    functions: list[Function]
    alone: list[Alone]
    files: list[File]  # those that gain most come first
    unchanged: int  # files without a new order
    commands: list[str]  # that show the orders of a file


def report(build: Build) -> Report:
    """The report of a build."""
    files = [
        File(
            _object(record, build.folder),
            str(record.get("source", "")),
            record.get("blocks", 0),
            _changed(record),
            record.get("before", 0),
            record.get("after", 0),
        )
        for record in build.files
        if "blocks" in record
    ]
    changed = sorted((file for file in files if file.changed), key=lambda file: (file.after - file.before, file.object))
    how = _how(build)
    return Report(
        build.folder.name,
        how,
        _summary(build),
        _functions(build)[:_FUNCTIONS],
        _alone(build),
        changed,
        len(files) - len(changed),
        _commands(build, changed),
    )


def _changed(record: dict[str, Any]) -> int:
    return int(record.get("statuses", {}).get("changed", 0))


def _object(record: dict[str, Any], folder: Path) -> str:
    return os.path.relpath(record["object"], folder)


def _how(build: Build) -> list[tuple[str, str]]:
    """What the texts were ordered by; each value with its number of files if there are several."""
    values: dict[str, Counter[str]] = {}
    for record in build.files:
        if how := record.get("how"):
            confirmed = "each gain confirmed by llvm-mca" if how["confirmed"] else "gains not confirmed by llvm-mca"
            named = {"processor": how["processor"], "method": f"{how['method']}, {confirmed}"}
            named |= {"memory order": how["memory"], "compiler": record.get("compiler") or "unknown"}
            for name, value in named.items():
                values.setdefault(name, Counter())[value] += 1
    times = [os.stat(record["object"]).st_mtime for record in build.files if os.path.exists(record["object"])]
    dates = [("newest object", time.strftime("%Y-%m-%d %H:%M", time.localtime(max(times))))] if times else []
    return [
        *(
            (name, next(iter(numbers)) if len(numbers) == 1 else "; ".join(f"{v} ({n:,})" for v, n in numbers.items()))
            for name, numbers in values.items()
        ),
        *dates,
        ("report", f"learned-schedulers {version('learned-schedulers')}, {time.strftime('%Y-%m-%d')}"),
    ]


def _summary(build: Build) -> list[Row]:
    ordered = [record for record in build.files if "blocks" in record]
    statuses: Counter[str] = Counter()
    for record in ordered:
        statuses.update(record.get("statuses", {}))
    blocks = sum(record["blocks"] for record in ordered)
    before, after = (sum(record.get(name, 0) for record in ordered) for name in ("before", "after"))
    rows = [
        Row(f"{len(ordered):,}", "files", "objects whose text was read"),
        Row(f"{blocks:,}", "blocks", "runs of instructions that execute together, first to last"),
    ]
    if changed := statuses["changed"]:
        rows.append(Row(f"{changed:,}", "blocks changed", f"{changed / blocks:.1%} of all: they have a new order"))
    if before:
        rows.append(
            Row(
                f"{before:,} -> {after:,} ({after / before - 1:+.1%})",
                "predicted cycles of the changed blocks",
                f"of these {changed:,} of {blocks:,} blocks alone, by the processor's model: one pass of each, not "
                "weighted by how often it runs. The run time may not change: measure it",
            )
        )
    rows += [Row(f"{statuses[name]:,}", *words) for name, words in _STATUSES.items() if statuses[name]]
    cached = sum(bool(record.get("cached")) for record in ordered)
    passed, failed = (sum(name in record for record in build.files) for name in ("passed", "failed"))
    rows += [
        Row(f"{cached:,}", "texts that the cache had", "they were ordered before, and taken as they were"),
        Row(f"{passed:,}", "calls left to the compiler alone", "for the reasons below" if passed else ""),
        Row(f"{failed:,}", "files that could not be ordered", "their text stays the compiler's" if failed else ""),
    ]
    if build.moved:
        meaning = f"moved, renamed or deleted since; they are counted: {_names(build.moved, build.folder)}"
        rows.append(Row(f"{len(build.moved):,}", "objects that do not lie any more where they were written", meaning))
    if build.rewritten:
        meaning = "by a build without `learned-schedulers cc`, by strip or by a cache as ccache; they are counted as "
        meaning += f"recorded, and may not be ordered any more: {_names(build.rewritten, build.folder)}"
        rows.append(Row(f"{len(build.rewritten):,}", "objects that something wrote again since", meaning))
    if build.uncounted:
        meaning = f"no file of their names is left, as of what configure tries: {_names(build.uncounted, build.folder)}"
        rows.append(Row(f"{len(build.uncounted):,}", "objects that are gone and are not counted", meaning))
    return rows


def _names(objects: Sequence[str], folder: Path) -> str:
    return _some([os.path.relpath(name, folder) for name in objects])


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _functions(build: Build) -> list[Function]:
    """The functions that gain most; a function with equal cycles in several objects once."""
    objects: dict[tuple[str, str, int, int], list[str]] = {}
    for record in build.files:
        for name, (before, after) in record.get("functions", {}).items():
            key = (name, str(record.get("source", "")), before, after)
            objects.setdefault(key, []).append(_object(record, build.folder))
    rows = [
        Function(name, source, names[0] if len(names) == 1 else f"{len(names)} objects", before, after)
        for (name, source, before, after), names in objects.items()
    ]
    return sorted(rows, key=lambda row: (row.after - row.before, row.name, row.objects))


def _alone(build: Build) -> list[Alone]:
    """Why parts were left alone, and where, by the number of files."""
    places: dict[tuple[str, str], dict[str, list[str]]] = {}  # reason and remedy -> object -> places in it
    for record in build.files:
        name = _object(record, build.folder)
        faults = [_fault(fault) for fault in record.get("faults", [])]
        if reason := record.get("passed"):
            faults.append(("", reason, _REMEDIES.get(reason, "none is needed")))
        if reason := record.get("failed"):
            faults.append(("", reason, _FAILED))
        for where, reason, remedy in faults:
            places.setdefault((reason, remedy), {}).setdefault(name, []).append(where)
    rows = [
        Alone(reason, remedy, len(objects), _some([_placed(name, where) for name, where in objects.items()]))
        for (reason, remedy), objects in places.items()
    ]
    return sorted(rows, key=lambda row: -row.files)[:_REASONS]


def _fault(fault: list[str] | str) -> tuple[str, str, str]:
    """Place, reason, remedy; records of older versions have a text."""
    if isinstance(fault, str):
        place, _, reason = fault.rpartition(": ")
        return place, reason, ""
    place, reason, remedy = fault
    return place, reason, remedy


def _placed(name: str, places: Sequence[str]) -> str:
    where = textwrap.shorten(places[0], 60, placeholder=" ...")
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{name} ({where}{more})" if where else name


def _commands(build: Build, changed: Sequence[File]) -> list[str]:
    """The lines that show the two orders of each block of the file that gains most."""
    how = next((record["how"] for record in build.files if record.get("how")), None)
    if not changed or how is None:
        return []
    options = f"--for {how['processor']} --by {how['method']} --memory {how['memory']}"
    return [
        f"gcc THE_OPTIONS_OF_YOUR_BUILD -S {changed[0].source or 'FILE.c'} -o before.s",
        f"learned-schedulers order before.s --dry-run --diff {options}" + " --no-confirm" * (not how["confirmed"]),
        f"learned-schedulers explain before.s {options} -o explanation.html",
    ]


def text(shown: Report) -> str:
    """The report for a terminal."""
    width = max(len(name) for name, _ in shown.how)
    lines = [f"{shown.project}: blocks in new orders", *(f"  {name:{width}}  {value}" for name, value in shown.how), ""]
    for number, words, meaning in shown.summary:
        lines += _wrapped(f"{number:>12}  ", f"{words}: {meaning}" if meaning else words)
    if shown.functions:
        lines += ["", "functions that gain most (cycles of their changed blocks, a single pass of each):"]
        lines += [f"{f.before:>8,} -> {f.after:<8,} {f.name}  {f.source}  ({f.objects})" for f in shown.functions]
    if shown.alone:
        lines += ["", "left alone, and in how many files (lines are those of the compiler's assembly, gcc -S):"]
        for row in shown.alone:
            lines += _wrapped(f"{row.files:>12}  ", f"{row.reason}; remedy: {row.remedy}" if row.remedy else row.reason)
            lines += _wrapped(" " * 16, row.places)
    if shown.commands:
        lines += ["", "the two orders of each block, of the file that gains most:", *_indented(shown.commands)]
    return "\n".join(lines)


def _wrapped(head: str, words: str) -> list[str]:
    space = " " * (16 if len(head) > 14 else 14)
    return textwrap.wrap(
        words, _WIDTH, initial_indent=head, subsequent_indent=space, break_long_words=False, break_on_hyphens=False
    )


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
