"""One clear message for an expected error."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def explained(code: int = 1) -> Iterator[None]:
    """End the process with a message on stderr and this exit code at an expected error.

    ValueError and OSError are expected: bad settings, damaged table, full disk; our own faults keep their traceback.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        remedy = "; the disk is full: free some space and start again, no half-written file was left" if full else ""
        print(f"error: {error}{remedy}", file=sys.stderr)
        sys.exit(code)
