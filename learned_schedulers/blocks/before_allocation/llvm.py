"""LLVM's answers about intermediate code: a verified text with names, pairs that do not alias, and assembly."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple

_MODULE = "learned_schedulers.blocks.before_allocation.llvm_child"
_ANSWER = re.compile(r"^  (NoAlias|MayAlias|PartialAlias|MustAlias):   (.*\S) +<-> +(.*\S)$")
_METADATA = re.compile(r"(?:, ![\w.]+ !\w+)+$")
_NEVER = "NoAlias"


class LlvmError(ValueError):
    """LLVM refuses the code, or cannot read it."""


class Code(NamedTuple):
    """A module of LLVM that passed its verifier."""

    text: str  # every result has a name
    apart: frozenset[tuple[str, str, str]]  # function, and two accesses (`key`) that never touch the same bytes


def read(content: bytes, name: str) -> Code:
    """The text of `.ll` or `.bc`, and what LLVM's alias analyses (basic, scoped, by types, of globals) prove.

    Raises LlvmError that names the file.
    """
    answer = _job(content, name, "read")
    return Code(answer.stdout, _apart(answer.stderr))


def emit(text: str, name: str, scheduler: str = "kept", processor: str = "host") -> str:
    """Assembly of the code at -O3, with comments; spills are marked by them. Raises LlvmError that names the file.

    scheduler: of `llvm_child.SCHEDULERS`; "kept" emits instructions in the order in which they stand.
    """
    return _job(text.encode(), name, "emit", scheduler, processor).stdout


def key(instruction: str) -> str:
    """The text of an access without its metadata, whose numbers depend on how it is printed."""
    return _METADATA.sub("", instruction.strip())


def _job(content: bytes, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", _MODULE, *words]
    answer = subprocess.run(command, input=content, capture_output=True, check=False)
    stdout, stderr = (part.decode("utf-8", "replace") for part in (answer.stdout, answer.stderr))
    if answer.returncode:
        reason = stderr.rpartition("refused: ")[2].strip() or f"LLVM ended with code {answer.returncode}"
        raise LlvmError(f"{name}: LLVM cannot read this: {' '.join(reason.split())[:400]}")
    return subprocess.CompletedProcess(command, 0, stdout, stderr)


def _apart(report: str) -> frozenset[tuple[str, str, str]]:
    """Pairs of accesses all of whose answers are that they are apart: equal texts may stand for several accesses."""
    function = ""
    never: set[tuple[str, str, str]] = set()
    others: set[tuple[str, str, str]] = set()
    for line in report.splitlines():
        if line.startswith("Function: "):
            function = line.removeprefix("Function: ").rpartition(": ")[0]
        elif answer := _ANSWER.match(line):
            first, second = key(answer[2]), key(answer[3])
            pairs = {(function, first, second), (function, second, first)}
            (never if answer[1] == _NEVER else others).update(pairs)
    return frozenset(never - others)
