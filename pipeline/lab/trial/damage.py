"""Damage to files: a bit flipped, the end cut off."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np


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


def damaged(path: Path, rng: np.random.Generator) -> str:
    """Damage a file that is not empty at a random place; says how."""
    size = path.stat().st_size
    if rng.random() < 0.6:
        bit = int(rng.integers(8 * size))
        flip(path, bit)
        return f"bit {bit} flipped"
    size_left = int(rng.integers(size))
    truncate(path, size_left)
    return f"cut to {size_left} of {size} bytes"


def unlinked(path: Path) -> Path:
    """The file as a copy of its own, with its times: damage then reaches no other hard link to it."""
    copy = path.with_name(f"{path.name}.copy")
    shutil.copy2(path, copy)
    os.replace(copy, path)
    return path
