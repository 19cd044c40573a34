"""A method for blocks and one of fusion, in a loose file, pass `conform` and are compared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from learned_schedulers.bench.results import read

ROOT = Path(__file__).parents[2]
SOURCE = '''
import numpy as np
from learned_schedulers.blocks.methods import Solution
from learned_schedulers.graphs.compilers.levels import LEVELS, plan_of
from learned_schedulers.graphs.methods.fusing import fusion_of


class LongestFirst:
    """Of the ready instructions the one with the longest latency."""

    def __init__(self, settings):
        pass

    def solve(self, problems, rng, budget):
        size, n = problems.latencies.shape
        orders = np.empty((size, n), np.int16)
        for b in range(size):
            waiting, ready = problems.precedes[b].sum(0), np.ones(n, bool)
            for slot in range(n):
                candidates = np.flatnonzero(ready & (waiting == 0))
                chosen = candidates[problems.latencies[b, candidates].argmax()]
                orders[b, slot], ready[chosen] = chosen, False
                waiting = waiting - problems.precedes[b, chosen]
        return Solution.of({"none": orders})


class FuseAll:
    """Whatever may be fused into its readers, in the order of the graph."""

    def __init__(self, settings):
        pass

    def fuse(self, problem, rng, machine=None):
        plan = plan_of(problem, np.full(problem.n, LEVELS - 1, np.int8))
        return fusion_of(problem, plan, np.zeros(0), machine)
'''
KINDS = [
    ("LongestFirst", 3, ["--set", "blocks_development", "--target", "atom"], "critical_path"),
    ("FuseAll", 6, ["--set", "fused_development"], "loop_fusion"),
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "mine.py").write_text(SOURCE)
    return folder


def called(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The console command in the folder of the file."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "learned_schedulers.command.main", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(("name", "checks", "options", "peer"), KINDS)
def test_it_conforms_and_is_compared(folder: Path, name: str, checks: int, options: list[str], peer: str) -> None:
    result = called(folder, "conform", f"mine:{name}")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("  passed  ") == checks
    files = ["--out", f"{name}.json", "--picture", f"{name}.png", "--cache", "cache"]
    result = called(folder, "compare", "--method", f"mine:{name}", *options, "--seeds", "1", "--peers", peer, *files)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line.split()[:2] for line in result.stdout.splitlines() if line.startswith((">", "  "))]
    assert [">", f"mine:{name}"] in rows and peer in {row[0] for row in rows}
    assert read(folder / f"{name}.json").method == f"mine:{name}"
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_set_of_another_kind_is_refused_with_those_that_fit(folder: Path) -> None:
    result = called(folder, "compare", "--method", "mine:LongestFirst", "--set", "unseen_real")
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert "kind block, and unseen_real has graphs on 4 devices; its sets are blocks_development" in result.stderr
    result = called(folder, "compare", "--set", "blocks_unseen", "--instances-out", "blocks")
    assert result.returncode == 1 and "only graphs on devices are written" in result.stderr
