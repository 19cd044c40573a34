"""How a stage runs: list options as shells write them, and one clear message for an expected error."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer


def repeated(argv: list[str]) -> list[str]:
    """Rewrite `--x a b c` to `--x a --x b --x c`, as typer expects; the pipeline has no positional arguments."""
    expanded: list[str] = []
    option = None
    for word in argv:
        if word.startswith("--"):
            option = word
            expanded.append(word)
        elif option is not None and expanded[-1] != option:
            expanded += [option, word]
        else:
            expanded.append(word)
    return expanded


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


def run(main: Callable[..., Any]) -> None:
    """Run a stage's function as a command that explains expected errors."""
    sys.argv[1:] = repeated(sys.argv[1:])
    with explained():
        typer.run(main)
