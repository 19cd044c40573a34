"""Programs built from assembly and run, with limits; each step is one process."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from learned_schedulers.blocks.dag.memory_order import MemoryOrder

RUNTIME = Path(__file__).with_name("runtime.c")
_TOOL_SECONDS = 60
_FIRST_SECONDS, SECONDS = 1.0, 20.0  # that a plain program may run, and an ordered one, which did run before
_LIMITS = ("prlimit", "--cpu=20", "--fsize=1000000", "--core=0", "--")


class Unbuilt(Exception):
    """A program cannot be used: its generator, a compiler, the linker or its first run fails; the text says which."""


class Program(NamedTuple):
    """A program in assembly, and how it becomes one that runs."""

    family: str
    text: bytes
    link: tuple[str, ...]  # the compiler's driver and its arguments
    memory: MemoryOrder
    constructs: frozenset[str]  # what occurs in it
    described: str  # how the text came to be, for people
    sources: Mapping[str, str]  # what the text was compiled from, by file name
    others: Mapping[str, str] = {}  # assembly that is linked as it is: file name -> text


class Ran(NamedTuple):
    """What is seen of a run."""

    code: int  # exit code; negative: the signal that ended it; TIMED_OUT
    output: bytes


TIMED_OUT = 1000


def tool(words: list[str], folder: Path, step: str) -> None:
    """Run a tool in a folder. Raises Unbuilt with its first message if it fails."""
    try:
        ended = subprocess.run(
            words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TOOL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unbuilt(f"{step}: no end") from None
    if ended.returncode:
        messages = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip().split("\n")
        telling = ("error: ", "undefined reference")
        first = next((message for message in messages if any(word in message for word in telling)), messages[-1])
        raise Unbuilt(f"{step}: {first.rpartition(': ')[2][:200]}")


def runtime(folder: Path) -> Path:
    """The object of runtime.c, compiled once for each folder."""
    path = folder / "runtime.o"
    if not path.exists():
        tool(["gcc", "-O1", "-c", str(RUNTIME), "-o", "runtime.o"], folder, "runtime.c")
    return path


def assemble(text: Path) -> Path:
    """The object beside the text. Raises Unbuilt."""
    output = text.with_suffix(".o")
    tool(["as", "--64", text.name, "-o", output.name], text.parent, "as")
    return output


def link(program: Program, item: Path, output: Path) -> None:
    """Link an object, or all of an archive. Raises Unbuilt."""
    others = [Path(name).with_suffix(".o").name for name in program.others]
    whole = ["-Wl,--whole-archive", item.name, "-Wl,--no-whole-archive"] if item.suffix == ".a" else [item.name]
    tool([*program.link[:1], *whole, *others, *program.link[1:], "-o", output.name], item.parent, "ld")


def run(executable: Path, seconds: float = SECONDS) -> Ran:
    """Run a program without arguments, environment and input."""
    output = executable.with_suffix(".out")
    with output.open("wb") as sink:
        try:
            ended = subprocess.run(
                [*_LIMITS, str(executable)],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.DEVNULL,
                env={},
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ran(TIMED_OUT, b"")
    return Ran(ended.returncode, output.read_bytes())


class Plain(NamedTuple):
    """The files of a program as it was, and what it prints."""

    text: Path
    item: Path
    executable: Path
    archive: Path
    shown: Ran


def plain(program: Program, folder: Path) -> Plain:
    """Build a program as it is, and run it twice. Raises Unbuilt if it does not run, or not twice the same."""
    text = folder / "plain.s"
    text.write_bytes(program.text)
    for name, other in program.others.items():
        (folder / name).write_text(other)
        assemble(folder / name)
    item, executable = assemble(text), folder / "plain"
    link(program, item, executable)
    shown = run(executable, _FIRST_SECONDS)
    if shown.code == TIMED_OUT:
        raise Unbuilt("run: no end")
    if shown.code:
        raise Unbuilt(f"run: exit code {shown.code}")
    if run(executable, _FIRST_SECONDS) != shown:
        raise Unbuilt("run: another output the second time")
    archive = folder / "plain.a"
    tool(["ar", "rcs", archive.name, item.name], folder, "ar")
    return Plain(text, item, executable, archive, shown)
