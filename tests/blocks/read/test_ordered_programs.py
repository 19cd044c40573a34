"""Programs whose assembly is in random legal orders: they print the same, and gdb unwinds from their instructions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from tests.blocks.read.assembled import PROGRAMS, document, needs_gcc
from tests.blocks.read.random_orders import moves, random_orders

pytestmark = [needs_gcc, pytest.mark.slow]
_FOLDER = Path(__file__).resolve().parent
_GDB_SECONDS = 300


def with_gdb(script: str, program: Path, settings: object) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "input.json"), Path(folder, "output.json")
        source.write_text(json.dumps(settings))
        environment = os.environ | {"OWN_INPUT": str(source), "OWN_OUTPUT": str(answer), "LC_ALL": "C"}
        environment.pop("DEBUGINFOD_URLS", None)
        command = ["gdb", "-q", "-nx", "-batch", "-x", str(_FOLDER / script), str(program)]
        ended = subprocess.run(
            command, capture_output=True, env=environment, timeout=_GDB_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
        if not answer.is_file():
            raise RuntimeError(f"gdb gave no answer for {program}: {ended.stderr.decode(errors='replace')[-500:]}")
        return json.loads(answer.read_text())


def step(program: Path, steps: int, distinct: bool = False) -> dict[str, Any]:
    """Single steps through a program: `checked` backtraces, and `wrong`, rows of address, backtrace and truth.

    distinct: each address of an instruction is checked once.
    """
    answer: dict[str, Any] = with_gdb("gdb_steps.py", program, {"steps": steps, "distinct": distinct})
    return answer


_SECONDS = 60


class Ran(NamedTuple):
    """A program before and after."""

    failures: list[str]
    moved: int  # instructions
    steps: int  # single steps with a backtrace
    distinct: int  # instructions among them


def compiler(source: Path) -> str:
    """The driver for a source file."""
    return "g++" if source.suffix == ".cpp" else "gcc"


def _output(program: Path) -> bytes:
    return subprocess.run([program], capture_output=True, timeout=_SECONDS, check=True).stdout


def run(source: Path, options: list[str], memory: MemoryOrder, rng: np.random.Generator, steps: int) -> Ran:
    """Compile a program to assembly, order it at random, run both; then step through the ordered one."""
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        text, program, ordered = Path(folder, "text.s"), Path(folder, "program"), Path(folder, "ordered")
        tool = compiler(source)
        subprocess.run([tool, *options, "-g", "-S", str(source), "-o", str(text)], check=True, timeout=_SECONDS)
        subprocess.run([tool, "-pthread", str(text), "-o", str(program)], check=True, timeout=_SECONDS)
        file = document(text.read_bytes().decode("latin-1"))
        orders = random_orders(file, memory, rng)
        n_faults = len(file.faults)
        text.write_bytes(file.rewritten(orders))
        failures += [fault.reason for fault in file.faults[n_faults:]]
        subprocess.run([tool, "-pthread", str(text), "-o", str(ordered)], check=True, timeout=_SECONDS)
        if _output(program) != _output(ordered):
            failures.append("it prints something else")
        answer: dict[str, Any] = {"checked": 0, "distinct": 0, "wrong": []}
        if steps:
            answer = step(ordered, steps, distinct=True)
            if answer["wrong"]:
                failures.append(f"{len(answer['wrong'])} backtraces are wrong, first {answer['wrong'][0]}")
        moved = moves(file, orders)
    return Ran(failures, int((moved.before != moved.after).sum()), answer["checked"], answer["distinct"])


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        ("exceptions.cpp", ["-O2"], 60),
        ("threads.cpp", ["-O2", "-pthread"], 0),
        ("mixed.c", ["-O2"], 60),
        ("mixed.c", ["-O0"], 0),
    ],
)
def test_program(name: str, options: list[str], steps: int) -> None:
    steps = steps if shutil.which("gdb") else 0
    ran = run(PROGRAMS / name, options, "tso", np.random.default_rng(11), steps)
    assert ran.failures == []
    assert ran.moved > 50
    assert ran.steps == steps
