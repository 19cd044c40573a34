"""What the verbs say on stderr: what they do, and no progress bars unless it is a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from learned_schedulers.command.kernels import MESSAGE
from learned_schedulers.command.main import VERBS

BODY = "f:\n\tmovq (%rdi), %rax\n\taddq $1, %rax\n\timulq %rsi, %rdx\n\tret\n"
TEXT = f'\t.file "f.c"\n\t.text\n\t.type f, @function\n{BODY}'
WORDS = {
    "blocks": ["f.s"],
    "order": ["f.s", "f.csv", "-o", "out", "--for", "atom", "--by", "list"],
    "check": ["f.s", "f.s"],
    "explain": ["f.s", "--for", "atom", "--by", "list"],
    "graph": ["w.json"],
    "split": ["w.json"],
    "project": ["j.txt"],
    "compare": ["--set", "placement_unseen", "--instances-out", "graphs"],
    "conform": ["bare:Method"],
    "leaderboard": [str(Path(__file__).parents[2] / "reports/leaderboard/unseen_real_pcie_heft.json")],
}
METHOD = """
import numpy as np
from learned_schedulers.graphs.methods import Proposals

class Method:
    def __init__(self, settings):
        pass

    def propose(self, problem, rng, budget):
        order = np.arange(len(problem), dtype=np.int32)[None]
        return Proposals(order, order % problem.devices)
"""
WORKLOAD = {
    "maxFPGAs": 1, "maxCPUs": 1, "maxSizePerFPGA": 1e10,
    "nodes": [
        {"id": k, "supportedOnFpga": True, "cpuLatency": 2, "fpgaLatency": 1, "isBackwardNode": False, "size": 1}
        for k in range(3)
    ],
    "edges": [{"sourceId": k, "destId": k + 1, "cost": 1} for k in range(2)],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "f.s").write_text(TEXT)
    (tmp_path / "f.csv").write_text("4889d84889f1\n")
    (tmp_path / "j.txt").write_text("2 2\n0 3 1 2\n1 2 0 4\n")
    (tmp_path / "w.json").write_text(json.dumps(WORKLOAD))
    (tmp_path / "bare.py").write_text(METHOD)
    return tmp_path


def command(verb: str) -> list[str]:
    return [sys.executable, "-c", "from learned_schedulers.command.main import main; main()", verb, *WORDS[verb]]


def test_every_verb_is_tried() -> None:
    assert {*WORDS, "run", "tune", "cc"} == {*VERBS}  # these need a GPU, or clang; tests/tuning tries the last two


@pytest.mark.slow
@pytest.mark.parametrize("verb", WORDS)
def test_no_bars_in_a_file(verb: str, folder: Path) -> None:
    run = subprocess.run(command(verb), cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "\r" not in run.stderr and "%|" not in run.stderr


@pytest.mark.slow
def test_bars_on_a_terminal(folder: Path) -> None:
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (24, 80))
    subprocess.run(command("order"), cwd=folder, stderr=writer, check=True)
    os.close(writer)
    text = b""
    while b"1 blocks" not in text:
        text += os.read(reader, 1 << 16)
    os.close(reader)
    assert b"%|" in text


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "split"])  # of blocks, and of graphs: one hook serves all verbs
def test_the_first_compilation_is_announced_once(verb: str, folder: Path) -> None:
    cold = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    times = []
    for _ in range(2):
        run = subprocess.run(command(verb), cwd=folder, env=cold, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        times.append(run.stderr.count(MESSAGE))
    assert times == [1, 0]
