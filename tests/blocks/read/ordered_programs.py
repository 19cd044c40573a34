"""Programs of our own, ordered at random: they must print the same, and gdb must unwind from each instruction."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from learned_schedulers.blocks.dag.memory_order import MemoryOrder
from learned_schedulers.blocks.read.assembly_file import read
from tests.blocks.read import debugger
from tests.blocks.read.random_orders import moves, random_orders

FOLDER = Path(__file__).with_name("programs")
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
        document = read(text.read_bytes(), source.name)
        orders = random_orders(document, memory, rng)
        n_faults = len(document.faults)
        text.write_bytes(document.rewritten(orders))
        failures += [fault.reason for fault in document.faults[n_faults:]]
        subprocess.run([tool, "-pthread", str(text), "-o", str(ordered)], check=True, timeout=_SECONDS)
        if _output(program) != _output(ordered):
            failures.append("it prints something else")
        answer: dict[str, Any] = {"checked": 0, "distinct": 0, "wrong": []}
        if steps:
            answer = debugger.step(ordered, steps, distinct=True)
            if answer["wrong"]:
                failures.append(f"{len(answer['wrong'])} backtraces are wrong, first {answer['wrong'][0]}")
        moved = moves(document, orders)
    return Ran(failures, int((moved.before != moved.after).sum()), answer["checked"], answer["distinct"])
