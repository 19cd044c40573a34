"""LLVM's answers about intermediate code: a verified text with names, pairs that do not alias, and assembly."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple

from learned_schedulers.blocks.before_allocation.llvm_child import LENGTH

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
    answer = subprocess.run([sys.executable, "-m", _MODULE, "read"], input=content, capture_output=True, check=False)
    stdout, stderr = (part.decode("utf-8", "replace") for part in (answer.stdout, answer.stderr))
    if answer.returncode:
        reason = stderr.rpartition("refused: ")[2].strip() or f"LLVM ended with code {answer.returncode}"
        raise LlvmError(f"{name}: LLVM cannot read this: {_line(reason)}")
    return Code(stdout, _apart(stderr))


class Emitter:
    """A process that compiles one code after the other at -O3, with comments that mark spills."""

    def __init__(self, scheduler: str = "kept", processor: str = "host") -> None:
        """scheduler: of `llvm_child.SCHEDULERS`; "kept" emits instructions in the order in which they stand.

        processor: a name of LLVM's for x86-64, or host.
        """
        command = [sys.executable, "-m", _MODULE, "emit", scheduler, processor]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Emitter:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def assembly(self, text: str, name: str) -> str:
        """The assembly of the code. Raises LlvmError that names the file; other code may follow."""
        assert self._process.stdin and self._process.stdout
        content = text.encode()
        try:
            self._process.stdin.write(len(content).to_bytes(LENGTH, "little") + content)
            self._process.stdin.flush()
            size = self._process.stdout.read(LENGTH)
            answer = self._process.stdout.read(int.from_bytes(size, "little")).decode() if size else ""
        except BrokenPipeError:
            answer = ""
        if not answer.startswith("+"):
            code = f"LLVM ended with code {self._process.wait()}" if not answer else answer[1:]
            raise LlvmError(f"{name}: LLVM cannot compile this: {_line(code)}")
        return answer[1:]


def key(instruction: str) -> str:
    """The text of an access without its metadata, whose numbers depend on how it is printed."""
    return _METADATA.sub("", instruction.strip())


def _line(reason: str) -> str:
    return " ".join(reason.split())[:400]


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
