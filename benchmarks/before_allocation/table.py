"""`functions.csv`: the frozen list of functions, and what differs between it and functions that are built anew."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FROZEN = Path(__file__).with_name("functions.csv")
_NUMBERS = ("block_instructions", "instructions")
SETS = ("training", "development", "test")


class Entry(NamedTuple):
    """A row of the table."""

    name: str  # of its file, without .ll
    set: str
    kind: str
    project: str
    version: str
    file: str  # in the source of the project
    function: str
    signature: str
    block_instructions: int
    instructions: int
    sha256: str  # of the text


def digest(text: str) -> str:
    """What the column sha256 has."""
    return hashlib.sha256(text.encode()).hexdigest()


def read(path: Path = FROZEN) -> list[Entry]:
    """The rows of a table. Raises ValueError that names the file if its columns are others."""
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != Entry._fields:
            raise ValueError(f"{path}: its columns are not {', '.join(Entry._fields)}; build it anew")
        return [Entry(**{**row, **{name: int(row[name]) for name in _NUMBERS}}) for row in rows]


def of_file(path: Path) -> Entry:
    """The row of a function's file in the functions.csv beside it. Raises ValueError that names both."""
    table = path.with_name("functions.csv")
    for entry in read(table):
        if entry.name == path.stem:
            return entry
    raise ValueError(f"{table} has no row for {path.stem}; build the folder anew")


def write(entries: Iterable[Entry], path: Path) -> None:
    """Write the table, in the sequence of its sets and names."""
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Entry._fields)
        ordered: list[Entry] = sorted(entries, key=lambda entry: (SETS.index(entry.set), entry.kind, entry.name))
        rows.writerows(ordered)
    part.replace(path)


def differences(frozen: Iterable[Entry], built: Iterable[Entry]) -> list[str]:
    """A line for each function that is missing, new, or not the same."""
    old, new = ({entry.name: entry for entry in entries} for entries in (frozen, built))
    lines = [f"{name}: is in functions.csv and was not built" for name in sorted(old.keys() - new.keys())]
    lines += [f"{name}: was built and is not in functions.csv" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        fields = [field for field in Entry._fields if getattr(old[name], field) != getattr(new[name], field)]
        if fields:
            lines.append(f"{name}: differs in {', '.join(fields)}")
    return lines
