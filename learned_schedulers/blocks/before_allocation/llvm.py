"""LLVM's answers about intermediate code: a verified text with names, pairs that do not alias, and assembly."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple

from learned_schedulers.blocks.before_allocation.llvm_child import ASSEMBLY, BITCODE, LENGTH, OBJECT

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


def read(content: bytes, name: str, aliases: bool = True) -> Code:
    """The text of `.ll` or `.bc`, and what LLVM's alias analyses (basic, scoped, by types, of globals) prove.

    aliases: whether these are asked; LLVM's time grows by the third power of a function's accesses, and is some
    ten seconds for a thousand. Raises LlvmError that names the file.
    """
    job = "read" if aliases else "text"
    answer = subprocess.run([sys.executable, "-m", _MODULE, job], input=content, capture_output=True, check=False)
    stdout, stderr = (part.decode("utf-8", "replace") for part in (answer.stdout, answer.stderr))
    if answer.returncode:
        reason = stderr.rpartition("refused: ")[2].strip() or f"LLVM ended with code {answer.returncode}"
        raise LlvmError(f"{name}: LLVM cannot read this: {_line(reason)}")
    return Code(stdout, _apart(stderr) if aliases else frozenset())


class Emitter:
    """A process that compiles one code after the other at -O3."""

    def __init__(self, scheduler: str = "default", processor: str = "host") -> None:
        """scheduler: of `llvm_child.SCHEDULERS`; "default" begins with the order in which instructions stand.

        processor: a name of LLVM's for x86-64, or host.
        """
        self._words = (scheduler, processor)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}  # by form

    def __enter__(self) -> Emitter:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.communicate()

    def assembly(self, text: str, name: str) -> str:
        """The assembly of the code, with comments that mark spills.

        Raises LlvmError that names the file; other code may follow.
        """
        return self._emitted(ASSEMBLY, text, name).decode()

    def object_file(self, text: str, name: str) -> bytes:
        """The code as a relocatable ELF file. Raises LlvmError that names the file; other code may follow."""
        return self._emitted(OBJECT, text, name)

    def bitcode(self, text: str, name: str) -> bytes:
        """The code as LLVM's bitcode. Raises LlvmError that names the file; other code may follow."""
        return self._emitted(BITCODE, text, name)

    def _emitted(self, form: str, text: str, name: str) -> bytes:
        if form not in self._processes:
            self._processes[form] = _started("emit", *self._words, form)
        process = self._processes[form]
        assert process.stdin and process.stdout
        content = text.encode()
        try:
            process.stdin.write(len(content).to_bytes(LENGTH, "little") + content)
            process.stdin.flush()
            size = process.stdout.read(LENGTH)
            answer = process.stdout.read(int.from_bytes(size, "little")) if size else b""
        except BrokenPipeError:
            answer = b""
        if not answer:
            del self._processes[form]  # the next code gets another process
            raise LlvmError(f"{name}: LLVM cannot compile this: it ended with code {process.wait()}")
        if not answer.startswith(b"+"):
            raise LlvmError(f"{name}: LLVM cannot compile this: {_line(answer[1:].decode('utf-8', 'replace'))}")
        return answer[1:]


def _started(*words: str) -> subprocess.Popen[bytes]:
    """A process of `llvm_child`."""
    command = [sys.executable, "-m", _MODULE, *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


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
