"""Damage to files in place, and to their content: bits flipped, the end cut off, pieces gone, repeated or moved."""

from __future__ import annotations

import os
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


def truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(max(len(content), 1)))]


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for at in rng.integers(0, max(len(content), 1), int(rng.integers(1, 8))).tolist() if content else ():
        changed[at] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def spliced(content: bytes, rng: np.random.Generator) -> bytes:
    """Repeat a piece, remove it, or move it."""
    a, b, at = np.sort(rng.integers(0, max(len(content), 1), 3)).tolist()
    piece = content[a : min(b, a + 500)]
    match int(rng.integers(3)):
        case 0:
            return content[:a] + content[a + len(piece) :]
        case 1:
            return content[:at] + piece + content[at:]
        case _:
            return content[:a] + content[a + len(piece) : at] + piece + content[at:]


def noise(content: bytes, rng: np.random.Generator) -> bytes:
    return rng.bytes(int(rng.integers(300)))
