"""Small assembly files for tests, and what two objects show, by pyelftools, readelf and iced-x86."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from iced_x86 import Decoder

from learned_schedulers.blocks.read.assembler import object_of
from learned_schedulers.blocks.read.assembly_file import AssemblyFile, read_compiled
from learned_schedulers.blocks.read.statements import scan

needs_as = pytest.mark.skipif(shutil.which("as") is None, reason="GNU's assembler `as` is not installed")
needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("as") is None, reason="gcc or `as` is not installed"
)
PROGRAMS = Path(__file__).parent / "programs"


def document(text: str) -> AssemblyFile:
    """A text is read as if a compiler had written it."""
    return read_compiled(text.encode("latin-1"), scan(text), "text.s")


def reversed_orders(file: AssemblyFile) -> dict[int, list[int]]:
    """Every block backwards: seldom legal, but the text does not know that."""
    return {k: list(range(len(block.marks)))[::-1] for k, block in enumerate(file.blocks)}


def drawn_orders(file: AssemblyFile, rng: np.random.Generator) -> dict[int, list[int]]:
    """Any permutations."""
    return {k: rng.permutation(len(block.marks)).tolist() for k, block in enumerate(file.blocks)}


def section(content: bytes, name: str) -> bytes:
    part = ELFFile(io.BytesIO(content)).get_section_by_name(name)
    return b"" if part is None else part.data()


def code(text: str | bytes, name: str = ".text") -> bytes:
    """The bytes of a section of the assembled text."""
    return section(object_of(text if isinstance(text, bytes) else text.encode("latin-1")), name)


def disassembly(content: bytes) -> list[str]:
    return [str(instruction) for instruction in Decoder(64, content)]


def compiled(source: Path, *options: str) -> bytes:
    """GCC's assembly of a program."""
    tool = "g++" if source.suffix == ".cpp" else "gcc"
    command = [tool, *options, "-S", str(source), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout
