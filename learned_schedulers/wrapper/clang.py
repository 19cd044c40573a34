"""Clang's steps one by one, with the orders between the two that write and that read assembly.

Clang itself says the steps (`-### -via-file-asm`): for each source one writes a text (`-cc1 -S`) and one assembles it
(`-cc1as`); a linker may follow. Whatever else it says, the plain command is run.
"""

from __future__ import annotations

import os
import re
import shlex
import sys

from learned_schedulers.wrapper import children, record
from learned_schedulers.wrapper.settings import Settings

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAD = re.compile(
    r".*clang version |Target: |Thread model: |InstalledDir: |Configuration file: |Found candidate |Selected |"
    r"Candidate multilib| \(in-process\)"
)
_WARNING = re.compile(r"\S+: warning: ")
_CRASHED = 70  # exit codes from here on, and signals: the plain command says what people shall report


class _Pair:
    """The two steps of one source."""

    def __init__(self, compiles: list[str], assembles: list[str], text: str, place: str) -> None:
        """text: the file of assembly between them. place: for the record, the object; the source if it is deleted."""
        self.compiles, self.assembles, self.text, self.place = compiles, assembles, text, place


class _Steps:
    """What Clang does."""

    def __init__(self, pairs: list[_Pair], links: list[str], warnings: list[str]) -> None:
        """links: the linker's step, or nothing. warnings: lines of the driver."""
        self.pairs, self.links, self.warnings = pairs, links, warnings


def run(command: Sequence[str], settings: Settings, place: str) -> int | None:
    """The exit code; None if nothing has been done, or nothing that lasts, and the plain command has to be run."""
    steps = _steps(command)
    if steps is None:
        record.say(f"{place}: left alone: Clang's steps are not understood")
        record.add(place, {"passed": "Clang's steps are not understood"})
        return None
    for line in steps.warnings:
        print(line, file=sys.stderr, flush=True)
    base = os.environ.get("TMPDIR") or "/tmp"
    folder = os.path.join(base, f"learned_schedulers_{os.getpid()}_{os.urandom(6).hex()}")
    os.mkdir(folder, mode=0o700)
    try:
        return _run(_in_folder(steps, folder), settings, os.path.basename(command[0]), "-" in command)
    except KeyboardInterrupt:
        return 130
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _steps(command: Sequence[str]) -> _Steps | None:
    """What Clang would do; None if that is not understood."""
    code, answer = children.printed(command[0], [command[0], "-###", "-via-file-asm", *command[1:]], stream=2)
    lines = [line for line in answer.splitlines() if line and not _HEAD.match(line)]
    warnings = [line for line in lines if _WARNING.match(line)]
    steps = [shlex.split(line) for line in lines if line.startswith(' "')]
    if code or len(warnings) + len(steps) < len(lines):
        return None
    return _paired(steps, warnings)


def _paired(steps: list[list[str]], warnings: list[str]) -> _Steps | None:
    pairs = []
    while len(steps) > 1 and steps[0][1:2] == ["-cc1"]:
        compiles, assembles, *steps = steps
        text = _output(compiles)
        if "-S" not in compiles or assembles[1:2] != ["-cc1as"] or not text or assembles[-1] != text:
            return None
        pairs.append(_Pair(compiles, assembles, text, _output(assembles)))
    if not pairs or len(steps) > 1 or (steps and steps[0][1:2] in (["-cc1"], ["-cc1as"])):
        return None
    return _Steps(pairs, steps[0] if steps else [], warnings)


def _output(words: list[str]) -> str:
    return words[words.index("-o") + 1] if "-o" in words[:-1] else ""


def _in_folder(steps: _Steps, folder: str) -> _Steps:
    """The steps with the files between them in another folder; the names that Clang has said are free for others."""
    names = {pair.text: os.path.join(folder, f"{k}.s") for k, pair in enumerate(steps.pairs)}
    if steps.links:
        outputs = [_output(pair.assembles) for pair in steps.pairs]
        names |= {output: os.path.join(folder, f"{k}.o") for k, output in enumerate(outputs)}

    def moved(words: list[str]) -> list[str]:
        return [names.get(word, word) for word in words]

    pairs = [
        _Pair(
            moved(pair.compiles),
            moved(pair.assembles),
            names[pair.text],
            pair.compiles[-1] if steps.links else pair.place,
        )
        for pair in steps.pairs
    ]
    return _Steps(pairs, moved(steps.links), steps.warnings)


def _run(steps: _Steps, settings: Settings, name: str, reads_input: bool) -> int | None:
    """Like the driver: a source that fails does not keep the others from being compiled, and nothing is linked."""
    code = 0
    for pair in steps.pairs:
        result = children.run(pair.compiles[0], pair.compiles)
        if result == 0:
            result = _assembled(pair, settings)
        if (result < 0 or result >= _CRASHED) and not reads_input:
            return None
        code = code or result
    if code or not steps.links:
        return code
    code = children.run(steps.links[0], steps.links)
    if code > 0:
        message = f"linker command failed with exit code {code} (use -v to see invocation)"
        print(f"{name}: error: {message}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _assembled(pair: _Pair, settings: Settings) -> int:
    """Assemble the ordered text; the text as it was, if the assembler has to say something of the ordered one."""
    from learned_schedulers.wrapper.client import ordered

    with open(pair.text, "rb") as file:
        text = file.read()
    new = ordered(text, settings, pair.place)
    if new != text:
        with open(pair.text, "wb") as file:
            file.write(new)
        if children.run(pair.assembles[0], pair.assembles, is_quiet=True) == 0:
            return 0
        record.add(pair.place, {"failed": "the assembler has a remark on the ordered text"})
        with open(pair.text, "wb") as file:
            file.write(text)
    return children.run(pair.assembles[0], pair.assembles)
