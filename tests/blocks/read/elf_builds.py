"""Files made by the system's compiler, assembler and linker, and what objdump says of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_SECTION = re.compile(r"Disassembly of section (.*):")
_LINE = re.compile(r"\s*([0-9a-f]+):\t(.*)")
_RELOCATION = re.compile(r"\t([0-9a-f]+): (R_X86_64_\S+)\s+(\S+)")


def run(command: Sequence[str | Path]) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def build(folder: Path, source: str, suffix: str, *options: str) -> bytes:
    """The file that gcc makes of a source, with -c among the options or not."""
    path, out = folder / f"source{suffix}", folder / "built"
    path.write_text(source)
    run(["gcc", "-w", *options, path, "-o", out])
    return out.read_bytes()


def with_objcopy(folder: Path, content: bytes, *options: str) -> bytes:
    path, out = folder / "input", folder / "output"
    path.write_bytes(content)
    run(["objcopy", *options, path, out])
    return out.read_bytes()


def disassembled(folder: Path, content: bytes, linked: bool) -> dict[tuple[str, int], str]:
    """(section, address) -> instruction, as GNU objdump reads it, without its own place.

    Operands relative to the instruction are shown by what they lead to: an address in a linked file, a relocation and
    its distance from the instruction's begin in an object.
    """
    path = folder / "disassembled"
    path.write_bytes(content)
    section, instructions = "", {}
    for line in run(["objdump", "-drwz", "-M", "intel", "--no-show-raw-insn", path]).splitlines():
        if match := _SECTION.match(line):
            section = match[1]
        elif match := _LINE.match(line):
            address, text = int(match[1], 16), match[2]
            relocations = [
                f"{name} {symbol} at {int(place, 16) - address}" for place, name, symbol in _RELOCATION.findall(text)
            ]
            text = _RELOCATION.sub("", text)
            code, _, comment = text.partition("#")
            if "[rip+" in code or "[rip-" in code:
                by_linker = any(part in text for text in relocations for part in ("PC", "GOT", "PLT"))
                target = comment.split()[0] if linked or not by_linker else ""
                code = re.sub(r"\[rip[+-]0x[0-9a-f]+\]", f"[{target}]", code)
            instructions[section, address] = " ".join([code.strip(), *relocations])
    return instructions
