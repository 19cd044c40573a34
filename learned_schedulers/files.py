"""Files that are written whole or not at all; bytes of files that a user supplies, and their words in messages."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path, follow: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends without an error.

    follow: if `path` is a symbolic link, it stays one, and the file that it leads to is replaced; as users expect of
    files that they name. A killed process leaves at most a file named `.<name>.*.part`, never half of `path`.
    Raises ValueError for a device, a pipe or a socket, such as /dev/null: root would replace it by a file.
    """
    if follow:
        path = path.resolve()
    if path.is_char_device() or path.is_block_device() or path.is_fifo() or path.is_socket():
        raise ValueError(f"{path} is no regular file, and would be replaced by one: name a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raises ValueError or OSError if `replacing` could not write the path, before the work for it is done."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file")
    with suppress(_Unchanged), replacing(path, follow=True):
        raise _Unchanged


class _Unchanged(Exception):
    """Ends the writing of a file that stays as it was."""


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


def printable(text: str) -> str:
    """Words of a file as a message may show them, on one line: what is no printable character is its number."""
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
