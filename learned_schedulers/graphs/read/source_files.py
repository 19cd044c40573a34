"""The bytes of a file that a user supplies."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def content(path: Path, less_than_bytes: int) -> bytes:
    """All bytes of a regular file.

    Raises ValueError that names the file and says why: it cannot be read, is a folder, a pipe or a device, or is too
    large.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path}: cannot be read: this is a folder, a pipe or a device; name a file")
        if status.st_size >= less_than_bytes:
            raise ValueError(
                f"{path}: cannot be read: it has {status.st_size} bytes; it must have less than {less_than_bytes}"
            )
        return path.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{path}: cannot be read: {error.strerror}; name another file, or allow it to be read"
        ) from error
