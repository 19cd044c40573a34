"""`python -m pipeline <stage> --option ...` runs a stage; `... <stage> --help` explains it."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from pipeline.lab import chapters
from pipeline.lab.stage_command import run
from pipeline.lab.stages import numba_files
from pipeline.lab.stages.checking import checked


def summary(module: str) -> str:
    """First line of a module's docstring, without importing it."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name == "--help":
        for stage, module in chapters.stages().items():
            print(f"{stage:24} {summary(module)}")
        sys.exit()
    if name not in chapters.stages():
        sys.exit(f"error: {name!r} is no stage; there are {', '.join(chapters.stages())}")
    numba_files.remove_damaged()  # before the stage is imported, which loads some of them
    run(checked(import_module(chapters.stages()[name]).main))
