"""`python -m pipeline <stage> --option ...` runs a stage; `... <stage> --help` explains it."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

from pipeline.lab.stage_command import run
from pipeline.lab.stages import numba_files
from pipeline.lab.stages.checking import checked

STAGES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\ndef main(" in path.read_text())

if __name__ == "__main__":
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name == "--help":
        for stage in STAGES:
            tree = ast.parse(Path(__file__).with_name(f"{stage}.py").read_text())
            print(f"{stage:24} {(ast.get_docstring(tree) or '').partition(chr(10))[0]}")
        sys.exit()
    if name not in STAGES:
        sys.exit(f"error: {name!r} is no stage; there are {', '.join(STAGES)}")
    numba_files.remove_damaged()  # before the stage is imported, which loads some of them
    run(checked(import_module(f"pipeline.lab.stages.{name}").main))
