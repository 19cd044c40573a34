"""C and C++ -> LLVM's intermediate code, the same on every machine: options and paths do not depend on it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

OPTIONS = ("-O3", "-march=haswell", "-w", "-S", "-emit-llvm", "-o", "-")
_SECONDS = 600  # that a file may take


class CompileError(ValueError):
    """clang refuses a file."""


def compiled(file: str, folder: Path, project: dict[str, Any]) -> str:
    """The intermediate code of a file; its path and the include paths are relative to the folder of the source.

    Raises CompileError with clang's first error.
    """
    includes = [f"-I{path}" for path in project.get("include", ["."])]
    flags = project.get("flags", "").split()
    compiler = "clang" if file.endswith(".c") else "clang++"
    command = [compiler, *OPTIONS, *includes, *flags, file]
    try:
        answer = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise CompileError(f"{file}: clang takes more than {_SECONDS} seconds") from None
    if answer.returncode:
        lines = answer.stderr.decode("utf-8", "replace").splitlines()
        errors = [line for line in lines if "error" in line] or [f"clang ended with code {answer.returncode}"]
        raise CompileError(f"{file}: {errors[0]}")
    return answer.stdout.decode("utf-8", "replace")
