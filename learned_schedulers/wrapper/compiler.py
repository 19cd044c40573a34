"""The compiler's command line, and how it is called.

GCC and Clang look for their assembler in the folders of `-B` first. So everything else stays the driver's work. Clang
assembles by itself unless `-fno-integrated-as` tells it not to. Only for `-S`, which calls no assembler, the text that
it has written is ordered afterwards.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from learned_schedulers.wrapper.settings import VERBOSE, Settings, program_folder

_COMPILER = re.compile(r"(?:x86_64-[\w-]*linux-gnu-)?(?:(gcc|g\+\+|cc|c\+\+)|(clang|clang\+\+))(?:-[\d.]+)?")
_SOURCE = (".c", ".i", ".cc", ".cp", ".cxx", ".cpp", ".c++", ".C", ".CPP", ".ii")
_CACHES = ("ccache", "sccache", "distcc")
_WORDS = {"--for": "target", "--by": "by", "--memory": "memory", "--seed": "seed"}
_FLAGS = {"--confirm": "yes", "--no-confirm": "no"}


class Call(NamedTuple):
    """A command line of the verb `cc`, as far as it needs no help."""

    settings: Settings
    verbose: bool
    command: list[str]


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
    if len(waiting) < 2 or any(not re.fullmatch(r"\w+", value) for value in values.values()):
        return None
    seed = values.pop("seed", "0")
    if not seed.isdigit():
        return None
    return Call(Settings(**values, seed=int(seed)), verbose, waiting[1:])


def run(call: Call) -> int:
    """Call the compiler in place of this process; returns its exit code only where more is left to do."""
    if call.verbose:
        os.environ[VERBOSE] = "1"
    command = list(call.command)
    try:
        more = _options(command, call.settings)
    except OSError as error:
        if os.environ.get(VERBOSE):
            print(f"learned-schedulers cc: the compiler is called without ordering: {error}", file=sys.stderr)
        more = []
    if not more:
        return _replace(command)
    if "-S" in command:
        code = subprocess.run([*command, *more]).returncode
        if code == 0:
            from learned_schedulers.wrapper.client import order_file

            for written in _texts(command):
                order_file(written, call.settings)
        return code
    return _replace([*command, *more])


def _options(command: Sequence[str], settings: Settings) -> list[str]:
    """What is added to the command line; nothing for what is no compilation by GCC or Clang for x86-64."""
    names = [os.path.basename(word) for word in command[:2]]
    name = names[1] if names[0] in _CACHES and len(names) > 1 else names[0]
    match = _COMPILER.fullmatch(name)
    if not match:
        return []
    folder = ["-B", program_folder(settings)]
    if match[1]:
        return folder
    compiles = any(word.endswith(_SOURCE) or word in ("-c", "-x") or word.startswith("@") for word in command[1:])
    others = any(word in ("-emit-llvm", "-E", "-fsyntax-only", "-M", "-MM") for word in command)
    if not compiles or others or any(word.startswith("-flto") for word in command):
        return []
    return ["--start-no-unused-arguments", "-fno-integrated-as", *folder, "--end-no-unused-arguments"]


def _texts(command: Sequence[str]) -> list[str]:
    """The files of assembly that a command with -S writes."""
    if "-o" in command[:-1]:
        return [command[command.index("-o") + 1]]
    joined = next((word[2:] for word in command if word.startswith("-o") and len(word) > 2), "")
    if joined:
        return [joined]
    return [os.path.basename(word).rpartition(".")[0] + ".s" for word in command[1:] if word.endswith(_SOURCE)]


def _replace(command: Sequence[str]) -> int:
    """Become the compiler."""
    sys.stdout.flush()
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        print(f"learned-schedulers cc: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
