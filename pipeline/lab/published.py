"""Published experiments: folders of CSV files with six significant digits, and where they come from beside them.

`reports/published/<experiment>/<table>.csv`; `<table>` is the name of a table, and its columns are the table's,
after those of _PLACES. What is published is made once and committed: long trainings, and times of one machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from pipeline.lab import chapters, tables, tidy
from pipeline.lab.provenance import Provenance, collect
from pipeline.lab.shared_tables import KEY
from pipeline.lab.table import Table

PROVENANCE = "provenance.json"
# Columns that a table has from where it lay.
_PLACES = {
    "history": ["experiment", "dependencies", "model", "seed"],
    "sweep": ["experiment", "dependencies", "seed"],
    "outcomes": ["experiment"],
    "block_outcomes": ["experiment", "set", "method", "seed"],
    "error_shares": ["model", "set", "seed"],
}


@dataclass(frozen=True)
class Published:
    """What `load` reads."""

    tables: dict[str, pd.DataFrame]  # name -> rows of all experiments; a table that nobody published has none
    provenance: dict[str, Provenance]  # by experiment


def columns(table: Table) -> list[str]:
    """Column names of a published CSV file."""
    names = _PLACES.get(table.name, [])
    return [*names, *(name for name in table.schema.names if name not in names)]


def load(experiments: Iterable[Path], told_apart: bool = False) -> Published:
    """The published experiments in these folders, sorted; `told_apart`: every table has a column `experiment`.

    A table that no chapter declares is left out with a message: that of a chapter that was deleted. Raises TableError
    naming a file whose columns are not its table's, or that is no table, and what to do.
    """
    folders = sorted(experiments)
    every = chapters.tables()
    frames: dict[str, list[pd.DataFrame]] = {name: [] for name in every}
    for path in (path for folder in folders for path in sorted(folder.glob("*.csv"))):
        if path.stem not in frames:
            print(f"{path} is left out: no chapter declares a table {path.stem!r}", file=sys.stderr)
            continue
        frame = read(every[path.stem], path)
        if told_apart and "experiment" not in frame:
            frame = frame.assign(experiment=path.parent.name)
        frames[path.stem].append(frame)
    return Published(
        {name: pd.concat(rows, ignore_index=True) if rows else empty(every[name]) for name, rows in frames.items()},
        {folder.name: Provenance.read(folder / PROVENANCE) for folder in folders},
    )


def read(table: Table, path: Path) -> pd.DataFrame:
    """One published CSV file; text columns are text even where all of them are numbers.

    Raises TableError where its columns are not the table's.
    """
    try:
        frame = pd.read_csv(path, dtype=dict.fromkeys(_text(table), str))
    except ValueError as error:  # no columns at all, or half a line
        raise tables.TableError(f"{path}: no table {table.name} ({error}); {_REMEDY}") from error
    if list(frame.columns) != columns(table):
        raise tables.TableError(f"{path}: its columns are {list(frame.columns)}, not {columns(table)}; {_REMEDY}")
    return frame


_REMEDY = "restore it from git, or publish the experiment again"


def _text(table: Table) -> list[str]:
    schema = table.schema
    return [name for name in columns(table) if name not in schema.names or pa.types.is_string(schema.field(name).type)]


@cache
def empty(table: Table) -> pd.DataFrame:
    """A published table without rows, to be read only."""
    places = {name: pd.Series(dtype="str") for name in _PLACES.get(table.name, [])}
    return pd.DataFrame({**places, **table.schema.empty_table().to_pandas()})[columns(table)]


def write(
    folder: Path,
    frames: Mapping[str, pd.DataFrame],
    settings: Mapping[str, Any],
    behaviour: Mapping[str, str],
    inputs: Iterable[Path] = (),
    weights: Iterable[Path] = (),
) -> None:
    """Publish an experiment, whose name is the folder's: its tables by name, and their provenance.

    `settings`: all that the numbers depend on beside the data; `behaviour`: the tables of the tiny corpus that tell
    whether the numbers are current (`behaviour.below`), none for what was measured; `inputs`, `weights`: files
    whose digests are recorded.
    The folder is replaced as a whole, or not at all. Raises TableError for a frame that is not of its table's columns.
    """
    columns_of = {name: columns(chapters.tables()[name]) for name in frames}
    for name, frame in frames.items():
        if set(frame.columns) != set(columns_of[name]):
            raise tables.TableError(f"{folder}: not a table {name}: {list(frame.columns)}, wanted {columns_of[name]}")
    seeds = {str(seed) for frame in frames.values() if "seed" in frame for seed in frame["seed"].unique()}
    provenance = collect(folder.name, settings, behaviour, inputs, weights, seeds - {"all", "none"})
    with _replacing(folder) as temporary:
        for name, frame in frames.items():
            rows = frame.sort_values(KEY, kind="stable") if name == "results" else frame
            (temporary / f"{name}.csv").write_text(tidy.csv(rows[columns_of[name]]))
        (temporary / PROVENANCE).write_text(provenance.text())


@contextmanager
def _replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside `folder` that takes its place when the block ends without an error."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent) as name:
        fresh, stale = Path(name) / "fresh", Path(name) / "stale"
        fresh.mkdir()
        yield fresh
        if folder.exists():
            os.replace(folder, stale)
        os.replace(fresh, folder)
