"""Records of what was written below data/: a file that was damaged since is found before a stage reads it.

A record is a small file in .cache/checksums, one for each file: the sha256 of its bytes, its time and its size.
Parquet, safetensors and JSON would be read with a flipped bit in them. Stages verify what they read
(stages/checking.py), and Snakemake everything at the end of a run (Snakefile).

`python -m pipeline.lab.checksums` records anew what DVC has replaced, and names what is damaged (`make adopt`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.files import replacing
from pipeline.lab import digests

DATA = Path("data")
_RECORDS = Path(".cache/checksums")
_REMEDY = (
    "delete the file and run the pipeline again, which makes it anew where it is needed; if DVC or you put it there, "
    "`make adopt` lets DVC check the files and records them"
)


class DamagedError(ValueError):
    """A file has other bytes than those that were recorded; the message names the file and the remedy."""


class Record(NamedTuple):
    """Content of a record."""

    sha256: str
    written: int  # time of the last modification, nanoseconds: a bit that a disk lost does not change it
    size: int  # bytes

    @staticmethod
    def of(path: Path) -> Record:
        """The record of a file as it is; it is read whole. Raises FileNotFoundError."""
        status = path.stat()
        return Record(digests.of_file(path), status.st_mtime_ns, status.st_size)


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
        return Record(str(content["sha256"]), int(content["written"]), int(content["size"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record(path: Path) -> None:
    """Record the bytes that the file has now."""
    now = Record.of(path)
    with replacing(_place(path)) as temporary:
        temporary.write_text(json.dumps(now._asdict()) + "\n")


def verify(path: Path, trusts_replaced: bool = False) -> None:
    """Raise DamagedError if a file has not the recorded bytes; a file without record passes.

    `trusts_replaced`: a file that was written since is recorded anew, as where DVC has put it there and verified it.
    """
    then = recorded(path)
    if then is None:
        return
    now = Record.of(path)
    if now.sha256 == then.sha256:
        return
    if trusts_replaced and now.written != then.written:
        record(path)
        return
    fault = f"{then.size} bytes were written, it has {now.size}"
    if now.size == then.size:
        fault = f"its sha256 is {now.sha256[:12]}, not {then.sha256[:12]} as when it was written"
    raise DamagedError(f"{path}: the file is damaged: {fault}; {_REMEDY}")


def damages(trusts_replaced: bool = False) -> list[str]:
    """Messages on the files below data/ that `verify` refuses."""
    messages = []
    for path in files_below([DATA]):
        try:
            verify(path, trusts_replaced)
        except DamagedError as error:
            messages.append(str(error))
    return messages


def renew() -> list[str]:
    """Record every file below data/ that was written since, or has no record; returns messages on damaged ones."""
    for path in files_below([DATA]):
        if recorded(path) is None:
            record(path)
    return damages(trusts_replaced=True)


def verify_all() -> None:
    """Raise DamagedError that names every file below data/ without its recorded bytes: the end of a run of Snakemake.

    A file that was damaged after the last stage that reads it would be found by nothing else. Under DVC, which may have
    replaced files of other stages, nothing is done.
    """
    if "DVC_STAGE" not in os.environ and (messages := damages()):
        raise DamagedError("\n".join(messages))


if __name__ == "__main__":
    for message in (damaged := renew()):
        print(f"error: {message}", file=sys.stderr)
    sys.exit(bool(damaged))
