"""What the verb `order` says of a file, the file written whole, and the errors that end a file but not a batch."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from learned_schedulers.blocks.read.document import Fault
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.files import replacing

STANDARD = Path("-")  # input or output
_REMEDIES: dict[type[OSError], str] = {
    FileNotFoundError: "correct its name",
    IsADirectoryError: "give the files in it",
    PermissionError: "change the permissions of the file or its folder",
}


class Result(NamedTuple):
    """What became of a file."""

    summary: str
    faults: list[Fault]
    report: dict[str, Any]
    failed: bool  # it could not be read, or an order turned out to be wrong


def result_of(file: Path, work: Callable[[], Result]) -> Result:
    """The result of the work on a file. Raises ValueError or OSError for what stops all, as a full disk does."""
    try:
        return work()
    except Unreadable as error:
        return _failed(file, error)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        place = error.filename2 or error.filename
        reason = f"{error.strerror or error}{f', {place}' if place not in (None, str(file)) else ''}"
        return _failed(file, Unreadable(reason, _REMEDIES.get(type(error), "check the file and its folder")))


def write(content: bytes, output: Path, file: Path) -> None:
    """Write the content whole, with the permissions of the file that it was."""
    if output == STANDARD:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    mode = file.stat().st_mode
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output, follow=True) as temporary:
        temporary.write_bytes(content)
    output.chmod(mode)


def _failed(file: Path, error: Unreadable) -> Result:
    fault = Fault(str(file), error.reason, error.remedy)
    report = {"file": str(file), "error": str(error)}
    return Result(f"error: {file}: {error}", [], report | {"faults": [fault._asdict()]}, failed=True)
