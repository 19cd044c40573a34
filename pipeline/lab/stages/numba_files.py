"""The machine code that Numba keeps beside the modules: a damaged file is deleted before it runs, and compiled anew.

Numba loads what lies there without a check. It replaces its files, and a replaced file has another time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pipeline.lab import checksums
from pipeline.lab.wiring import LABORATORY, LIBRARY, ROOT


def remove_damaged() -> list[Path]:
    """Delete the files whose bytes changed and whose time did not; returns them. To be called before any kernel."""
    damaged = []
    for path in _files():
        then = checksums.recorded(path)
        if then is None:
            continue
        try:
            now = checksums.Record.of(path)
        except FileNotFoundError:  # another process has just deleted it
            continue
        if now.sha256 != then.sha256 and now.written == then.written:
            path.unlink(missing_ok=True)
            damaged.append(path)
            print(f"{path} was damaged and is deleted; Numba compiles it anew", file=sys.stderr)
    return damaged


def record() -> None:
    """Record the files that have no record, or were replaced since."""
    for path in _files():
        then = checksums.recorded(path)
        try:
            if then is None or then.written != path.stat().st_mtime_ns:
                checksums.record(path)
        except FileNotFoundError:  # another process has replaced it
            continue


def kernels(root: Path) -> list[Path]:
    """The files in a copy of the repository at `root`, sorted; Numba knows their sources by time and size."""
    return sorted(path for part in (LIBRARY, LABORATORY) for path in (root / part).rglob("__pycache__/*.nb[ic]"))


def _files() -> list[Path]:
    """Relative to the working directory, which is the repository's root when the pipeline runs; elsewhere none."""
    if Path.cwd() != ROOT:
        return []
    return [Path(os.path.relpath(path)) for path in kernels(ROOT)]
