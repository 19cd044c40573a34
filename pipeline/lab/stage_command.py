"""How a stage runs: list options as shells write them, and expected errors explained."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable
from typing import Any

import typer

from learned_schedulers.command.explained import explained


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


def run(main: Callable[..., Any]) -> None:
    """Run a stage's function as a command that explains expected errors."""
    atexit.register(gc.freeze)  # Python would look for cycles among all that torch made, for one or two seconds
    sys.argv[1:] = repeated(sys.argv[1:])
    with explained():
        typer.run(main)
