"""How the compiler is called, so that what it writes is ordered before it is assembled.

GCC looks for its assembler in the folders of `-B` first, and finds a program that orders (`assembler.py`): everything
else stays the driver's work. Clang assembles by itself, and its steps are run one by one (`clang.py`). The text that
`-S` writes is ordered afterwards.
"""

from __future__ import annotations

import os
import re
import stat
import sys

from learned_schedulers.wrapper import children, record
from learned_schedulers.wrapper.command_line import Understood, understood
from learned_schedulers.wrapper.settings import CHOICES, VERBOSE, Settings, program

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence

_WORDS = {"--for": "target", "--by": "by", "--memory": "memory", "--seed": "seed"}
_FLAGS = {"--confirm": "yes", "--no-confirm": "no"}


class Call:
    """A command line of the verb `cc`, as far as it needs no help."""

    def __init__(self, settings: Settings, verbose: bool, command: list[str]) -> None:
        """command: the compiler's."""
        self.settings, self.verbose, self.command = settings, verbose, command


def parsed(words: Sequence[str]) -> Call | None:
    """The words behind `cc`; None if the whole command has to read them: help, report, mistakes."""
    values: dict[str, str] = {}
    verbose, waiting = False, list(words)
    while waiting and waiting[0] != "--":
        word = waiting.pop(0)
        name, _, value = word.partition("=")
        if name in _WORDS and (value or waiting):
            values[_WORDS[name]] = value or waiting.pop(0)
        elif word in _FLAGS:
            values["confirm"] = _FLAGS[word]
        elif word in ("-v", "--verbose"):
            verbose = True
        else:
            return None
    seed = values.pop("seed", "0")
    if len(waiting) < 2 or not re.fullmatch("[0-9]{1,18}", seed):
        return None
    settings = Settings(**values, seed=int(seed))
    if any(getattr(settings, name) not in choices for name, choices in CHOICES.items()):
        return None
    return Call(settings, verbose, waiting[1:])


def main(words: Sequence[str]) -> int:
    """The program that ccache calls before Clang: the name of the settings, then the command."""
    return run(Call(Settings.of_name(words[0]), bool(os.environ.get(VERBOSE)), list(words[1:])))


def run(call: Call) -> int:
    """Call the compiler in place of this process; returns its exit code only where more is left to do."""
    if call.verbose:
        os.environ[VERBOSE] = "1"
    command = list(call.command)
    reading = understood(command)
    if reading.road == "passed":
        record.say(f"{reading.place}: left alone: {reading.reason}")
        record.add(reading.place, {"passed": reading.reason})
        return _replace(command)
    try:
        return _ordered(command, reading, call.settings)
    except OSError as error:  # nothing has been run yet
        record.say(f"{reading.place}: left alone: {error}")
        record.add(reading.place, {"failed": str(error)})
        return _replace(command)


def _ordered(command: list[str], reading: Understood, settings: Settings) -> int:
    if reading.road == "gcc":
        return _replace([*command, "-B", os.path.dirname(program(settings, "as"))])
    if reading.road == "text":
        return _text(command, reading.texts, settings)
    if reading.road == "ccache":  # it calls Clang through this program, and its key has the program's words
        path = program(settings, "compiler")
        os.environ["CCACHE_PREFIX"] = " ".join(filter(None, (os.environ.get("CCACHE_PREFIX"), path)))
        os.environ["CCACHE_EXTRAFILES"] = ":".join(filter(None, (os.environ.get("CCACHE_EXTRAFILES"), path)))
        return _replace(command)
    from learned_schedulers.wrapper import clang

    code = clang.run(command, settings, reading.place)
    return _replace(command) if code is None else code


def _text(command: Sequence[str], texts: Sequence[str], settings: Settings) -> int:
    """Let the compiler write assembly, and order what is new of it."""
    before = [_state(path) for path in texts]
    code = children.run(command[0], list(command)) if _is_program(command[0]) else _replace(command)
    if code:
        return code if code > 0 else 128 - code
    from learned_schedulers.wrapper.client import order_file

    for path, state in zip(texts, before, strict=True):
        if _state(path) not in (None, state):
            order_file(path, settings)
    return code


def _state(path: str) -> tuple[int, int, int] | None:
    """What changes when a file is written; None for what is no file."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return (facts.st_ino, facts.st_mtime_ns, facts.st_size) if stat.S_ISREG(facts.st_mode) else None


def _is_program(name: str) -> bool:
    import shutil

    return shutil.which(name) is not None


def _replace(command: Sequence[str]) -> int:
    """Become the compiler."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        print(f"learned-schedulers cc: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
