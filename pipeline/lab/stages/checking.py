"""What every stage does before and after its work: verify the files that it reads, record those that it wrote."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from pipeline.corpus.tables import MANIFEST
from pipeline.lab import checksums, places, tables
from pipeline.lab.stages import numba_files


def checked(main: Callable[..., Any]) -> Callable[..., Any]:
    """A stage's function that refuses damaged files and records what it wrote, below data/ (pipeline/lab/checksums.py).

    Raises DamagedError, naming the file and the remedy, before the stage begins. In a training of several processes
    the first one records.
    """

    @wraps(main)
    def stage(*args: Any, **options: Any) -> Any:
        named = list(_paths([*args, *options.values()]))
        before = _verified(checksums.files_below(named))
        _verified(checksums.files_below(_artifacts(before)))
        try:
            result = main(*args, **options)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES):
                remedy = "make the folder writable and start again, no half-written file was left"
                raise PermissionError(f"{error}; {remedy}") from error
            raise
        if os.environ.get("RANK", "0") == "0":
            for path in checksums.files_below(named):
                if before.get(path) != _written(path):
                    checksums.record(path)
            numba_files.record()
        return result

    return stage


def _paths(values: list[Any]) -> Iterator[Path]:
    """The paths among the values of options."""
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, list | tuple):
            yield from _paths(list(value))


def _verified(files: list[Path]) -> dict[Path, tuple[int, int]]:
    """Time and size of files that have the recorded bytes, or no record."""
    for path in files:
        # DVC verifies what it puts there, and may have replaced it since Snakemake's last run.
        checksums.verify(path, trusts_replaced="DVC_STAGE" in os.environ)
    return {path: _written(path) for path in files}


def _written(path: Path) -> tuple[int, int]:
    """Time, nanoseconds, and size: what a stage has written has other ones."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _artifacts(files: Iterable[Path]) -> Iterator[Path]:
    """The files that a manifest among the files lists: a stage that is given a manifest reads them."""
    manifest = Path(places.path("manifest"))
    if manifest in files:
        yield from map(Path, set(tables.read(MANIFEST, manifest, ["artifact"])["artifact"]))
