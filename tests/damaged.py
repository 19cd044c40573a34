"""How many damaged files the tests of readers try, and the watch over each: `DAMAGED=10000 pytest tests/...`."""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT_SECONDS = 60  # for a file; the slowest takes a fraction of a second, but the first may wait for numba's compiler
_MORE_BYTES = 3 << 30  # of memory that reading may take beside what the process has


def count(usual: int) -> int:
    """The number of files to damage: that of the environment, or the usual one."""
    return int(os.environ.get("DAMAGED", usual))


@contextmanager
def limited_memory() -> Iterator[None]:
    """Too large an allocation raises MemoryError."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + _MORE_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def watched() -> Iterator[None]:
    """A hang ends this process, and shows where it was."""
    faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
