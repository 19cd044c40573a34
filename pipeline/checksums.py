"""Records of what was written below data/: a file that was damaged since is found before a stage reads it.

A record is a small file in .cache/checksums, one for each file: the sha256 of its bytes, and what the file system says
of it (inode, time, size). Parquet, safetensors and JSON would be read with a flipped bit in them.

`python -m pipeline.checksums` records anew what DVC has replaced, and names what is damaged (`make adopt`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline import digests, tables

DATA = Path("data")
_RECORDS = Path(".cache/checksums")
_REMEDY = (
    "delete the file and run the pipeline again, which makes it anew; if DVC or you put it there, `make adopt` lets "
    "DVC check the files and records them"
)


class DamagedError(ValueError):
    """A file has other bytes than those that were recorded; the message names the file and the remedy."""


class Identity(NamedTuple):
    """What tells a file that was replaced or written to from one that was not; a bit that a disk lost changes none."""

    inode: int
    nanoseconds: int  # of the last modification
    size: int

    @staticmethod
    def of(path: Path) -> Identity:
        """Raises FileNotFoundError."""
        status = path.stat()
        return Identity(status.st_ino, status.st_mtime_ns, status.st_size)


class Record(NamedTuple):
    """Content of a record."""

    sha256: str
    identity: Identity

    @staticmethod
    def of(path: Path) -> Record:
        """The record of a file as it is; it is read whole."""
        identity = Identity.of(path)
        return Record(digests.of_file(path), identity)


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Those of the paths that are files below data/ of the working directory, and all files of folders there; sorted.

    Names are relative to the working directory. Half-written files (`.*.part`) do not count.
    """
    return sorted({path for name in paths for path in _files(Path(os.path.relpath(name)))})


def _files(path: Path) -> Iterator[Path]:
    if path.parts[0] != DATA.name:
        return
    for file in path.rglob("*") if path.is_dir() else [path]:
        if file.is_file() and not (file.name.startswith(".") and file.suffix == ".part"):
            yield file


def _place(path: Path) -> Path:
    return _RECORDS / path.with_name(f"{path.name}.json")


def recorded(path: Path) -> Record | None:
    """The record of a file; None without one, or where the record itself is damaged."""
    try:
        content = json.loads(_place(path).read_text())
        return Record(str(content["sha256"]), Identity(*map(int, content["identity"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record(path: Path) -> None:
    """Record the bytes that the file has now."""
    now = Record.of(path)
    with tables.replacing(_place(path)) as temporary:
        temporary.write_text(json.dumps({"sha256": now.sha256, "identity": now.identity}) + "\n")


def verify(path: Path, trusts_replaced: bool = False) -> None:
    """Raise DamagedError if a file has not the recorded bytes; a file without record passes.

    `trusts_replaced`: a file that was replaced since is recorded anew, as where DVC has put it there and verified it.
    """
    then = recorded(path)
    if then is None:
        return
    now = Record.of(path)
    if now.sha256 == then.sha256:
        return
    if trusts_replaced and now.identity != then.identity:
        record(path)
        return
    fault = f"{then.identity.size} bytes were written, it has {now.identity.size}"
    if now.identity.size == then.identity.size:
        fault = f"its sha256 is {now.sha256[:12]}, not {then.sha256[:12]} as when it was written"
    raise DamagedError(f"{path}: the file is damaged: {fault}; {_REMEDY}")


def renew() -> list[str]:
    """Record every file below data/ that was replaced since, or has no record; returns messages on damaged ones."""
    messages = []
    for path in files_below([DATA]):
        then = recorded(path)
        if then is None or then.identity != Identity.of(path):
            record(path)
            continue
        try:
            verify(path)
        except DamagedError as error:
            messages.append(str(error))
    return messages


if __name__ == "__main__":
    for message in (damaged := renew()):
        print(f"error: {message}", file=sys.stderr)
    sys.exit(bool(damaged))
