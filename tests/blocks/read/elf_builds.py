"""Files made by the system's compiler, assembler and linker."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


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
