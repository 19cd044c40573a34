"""How a stage is run: list options as shells write them, expected errors as one clear message."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer


def repeated(argv: list[str]) -> list[str]:
    """`--x a b c` as typer wants it, `--x a --x b --x c`; the pipeline has no positional arguments."""
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

    Expected are ValueError and OSError: bad settings, damaged table, full disk; a fault of our own keeps its traceback.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        remedy = "; the disk is full: free some space and start again, nothing half-written was left" if full else ""
        print(f"error: {error}{remedy}", file=sys.stderr)
        sys.exit(code)


def run(main: Callable[..., Any]) -> None:
    """Run a stage's function as a command, its expected errors explained."""
    sys.argv[1:] = repeated(sys.argv[1:])
    with explained():
        typer.run(main)
