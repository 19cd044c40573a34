"""Damage to files: a bit flipped, the end cut off."""

from __future__ import annotations

import os
from pathlib import Path


def flip(path: Path, bit: int) -> None:
    """Flip one bit, counted from the file's begin; size and time stay, as where a disk or its cable errs."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(bit // 8)
        value = file.read(1)[0] ^ (1 << bit % 8)
        file.seek(bit // 8)
        file.write(bytes([value]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path: Path, size: int) -> None:
    """Keep the first `size` bytes; the time stays."""
    before = path.stat()
    os.truncate(path, size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
