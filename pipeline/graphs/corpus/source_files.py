"""The bytes of a file that somebody else made."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def content(path: Path, less_than_bytes: int) -> bytes:
    """All of a regular file.

    Raises ValueError naming it, and why: it cannot be read, is a folder, a pipe or a device, or as large as that.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path}: cannot be read: this is no file, but a folder, a pipe or a device; name a file")
        if found.st_size >= less_than_bytes:
            raise ValueError(
                f"{path}: cannot be read: {found.st_size} bytes; there must be less than {less_than_bytes}"
            )
        return path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be read: {error.strerror}; name another file, or allow it to be read"
        ) from error
