"""gdb as a subprocess, with one of the scripts beside this file."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from learned_schedulers.blocks.read.assembler import Assembled

_HERE = Path(__file__).resolve().parent
SECONDS = 300


def _run(script: str, program: Path, settings: object) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "input.json"), Path(folder, "output.json")
        source.write_text(json.dumps(settings))
        environment = os.environ | {"OWN_INPUT": str(source), "OWN_OUTPUT": str(answer), "LC_ALL": "C"}
        environment.pop("DEBUGINFOD_URLS", None)
        command = ["gdb", "-q", "-nx", "-batch", "-x", str(_HERE / script), str(program)]
        ended = subprocess.run(
            command, capture_output=True, env=environment, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
        if not answer.is_file():
            raise RuntimeError(f"gdb gave no answer for {program}: {ended.stderr.decode(errors='replace')[-500:]}")
        return json.loads(answer.read_text())


def lines(program: Path, content: Assembled, section: np.ndarray, offset: np.ndarray) -> list[tuple[str, int]]:
    """The file and line that gdb shows at each instruction of an object file."""
    settings, places = [], {}
    for index, part in content.sections.items():
        if part.loaded:
            places[index] = np.flatnonzero(section == index)
            settings.append([index, part.name, offset[places[index]].tolist()])
    answers = _run("gdb_lines.py", program, settings)
    shown: list[tuple[str, int]] = [("", 0)] * len(section)
    for index, numbers in places.items():
        for number, (file, line) in zip(numbers.tolist(), answers[str(index)], strict=True):
            shown[number] = (file, line)
    return shown


def step(program: Path, steps: int, distinct: bool = False) -> dict[str, Any]:
    """Single steps through a program: `checked` backtraces, and `wrong`, rows of address, backtrace and truth.

    distinct: each address of an instruction is checked once.
    """
    answer: dict[str, Any] = _run("gdb_steps.py", program, {"steps": steps, "distinct": distinct})
    return answer
