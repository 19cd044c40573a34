"""What has become of a project's files: blocks, cycles that the models predict, and what was left alone, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from learned_schedulers.wrapper.record import path as path_of_record
from learned_schedulers.wrapper.record import place_of

_FUNCTIONS, _REASONS = 15, 10  # that a report names
_STATUSES = {
    "changed": "changed",
    "best": "without a faster order",
    "single": "with one legal order",
    "unsupported": "with an instruction that the model does not know",
    "unconfirmed": "whose gain llvm-mca does not confirm",
}


def of_folder(folder: Path, path: Path | None = None) -> list[dict[str, Any]]:
    """The newest record of each object below a folder, by the object's name; of files that are still there.

    path: the file of records; None: the user's.
    """
    path = path or Path(path_of_record())
    newest: dict[str, dict[str, Any]] = {}
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:  # a process was killed while it wrote
                    continue
                if "text" in record:
                    record = _of_cache(record)
                if Path(record["object"]).is_relative_to(folder):
                    newest[record["object"]] = record
    return [newest[name] for name in sorted(newest) if Path(name).exists()]  # configure deletes what it tries


def _of_cache(line: dict[str, str]) -> dict[str, Any]:
    """What the script records (`script.py`), with what is known of the text that the cache had."""
    try:
        facts = json.loads(Path(line["text"]).with_suffix(".json").read_bytes())
    except (OSError, ValueError):
        facts = {}
    return {**facts, "object": place_of(line["object"], facts.get("source", ""), line["folder"]), "cached": True}


def _facts(files: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """The lines of the summary: what, and how much."""
    ordered = [record for record in files if "blocks" in record]
    statuses: Counter[str] = Counter()
    for record in ordered:
        statuses.update(record.get("statuses", {}))
    before, after = (sum(record.get(name, 0) for record in ordered) for name in ("before", "after"))
    facts = [("files", f"{len(ordered):,}"), ("blocks", f"{sum(record['blocks'] for record in ordered):,}")]
    facts += [(f"blocks {words}", f"{statuses[name]:,}") for name, words in _STATUSES.items() if statuses[name]]
    if before:
        facts.append(("predicted cycles of the changed blocks", f"{before:,} -> {after:,} ({after / before - 1:+.1%})"))
    facts.append(("texts that the cache had", f"{sum(bool(record.get('cached')) for record in ordered):,}"))
    for name, words in (("passed", "calls left to the compiler alone"), ("failed", "files that could not be ordered")):
        facts.append((words, f"{sum(name in record for record in files):,}"))
    return facts


def _functions(files: Iterable[dict[str, Any]]) -> list[tuple[str, str, int, int]]:
    """The functions that gain most: name, source, cycles before and after."""
    rows = [
        (name, str(record.get("source", "")), *cycles)
        for record in files
        for name, cycles in record.get("functions", {}).items()
    ]
    return sorted(rows, key=lambda row: (row[3] - row[2], row[0]))[:_FUNCTIONS]


def _reasons(files: Iterable[dict[str, Any]]) -> list[tuple[str, int]]:
    """Why parts were left alone, and in how many files."""
    reasons: Counter[str] = Counter()
    for record in files:
        faults = {fault.partition(": ")[2] or fault for fault in record.get("faults", [])}
        reasons.update(faults | {record[name] for name in ("passed", "failed") if name in record})
    return reasons.most_common(_REASONS)


def text(files: Sequence[dict[str, Any]]) -> str:
    """The report for a terminal."""
    lines = [f"{number:>12}  {words}" for words, number in _facts(files)]
    if functions := _functions(files):
        lines += ["", "functions that gain most (cycles of their changed blocks, a single pass of each):"]
        lines += [f"{before:>8,} -> {after:<8,} {name}  {source}" for name, source, before, after in functions]
    if reasons := _reasons(files):
        lines += ["", "left alone, and in how many files:"]
        lines += [f"{count:>12}  {reason}" for reason, count in reasons]
    return "\n".join(lines)


def html(files: Sequence[dict[str, Any]], project: str) -> str:
    """The report as one page that needs no network."""
    per_file = [
        (
            record.get("source") or record["object"],
            record.get("blocks", 0),
            record.get("statuses", {}).get("changed", 0),
            record.get("before", 0),
            record.get("after", 0),
        )
        for record in files
    ]
    parts = [
        f"<h1>{escape(project)}: blocks in new orders</h1>",
        _table(("", ""), _facts(files)),
        "<h2>Functions that gain most</h2><p>Predicted cycles of their changed blocks, a single pass of each.</p>",
        _table(("Function", "Source", "Before", "After"), _functions(files)),
        "<h2>Left alone</h2>",
        _table(("Reason", "Files"), _reasons(files)),
        "<h2>Files</h2>",
        _table(("Source", "Blocks", "Changed", "Cycles before", "Cycles after"), per_file),
    ]
    style = (
        "body{font-family:system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}"
        "table{border-collapse:collapse}td,th{padding:.2rem .8rem;border-bottom:1px solid #ddd;text-align:left}"
        "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    )
    head = f'<meta charset="utf-8"><title>{escape(project)}</title><style>{style}</style>'
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    def cell(value: object) -> str:
        return f"<td class='n'>{value:,}</td>" if isinstance(value, int) else f"<td>{escape(str(value))}</td>"

    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><tr>{names}</tr>{body}</table>" if body else "<p>None.</p>"
