"""`graph --fuse` as a user types it: printed and written plans, compiled modules, and refused input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from learned_schedulers.command import fuse
from learned_schedulers.graphs.compilers.fusion_problem import FusionProblem, fusion_problem
from learned_schedulers.graphs.compilers.inductor.available import missing
from learned_schedulers.graphs.compilers.plan import NOT_WRITTEN, Plan, members, violations
from learned_schedulers.graphs.compilers.rates import frozen_rates
from learned_schedulers.graphs.plans.sources import read_file
from tests.command.test_graph import RESNET, refused, run, written

pytestmark = pytest.mark.slow

SQUEEZENET = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
METHODS = ["separate", "loop_fusion", "xla_2023", "priority_fusion", "go"]
MODULE = """
import torch
from torch import nn

class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 8)
    def forward(self, x, tokens):
        y = x + self.table(tokens)
        return torch.softmax(y, -1) * y.sum(-1, keepdim=True), y.sum(0)

class Alone(nn.Module):
    def forward(self, x):
        return x + 1

class Jumps(nn.Module):
    def forward(self, x):
        torch._dynamo.graph_break()
        return torch.relu(x) + 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fused_module.py").write_text(MODULE)
    return tmp_path


def plan_in(content: dict[str, Any], problem: FusionProblem) -> Plan:
    """The plan of a file."""
    kernel = np.full(problem.n, NOT_WRITTEN, np.int64)
    for row in content["kernels"]:
        results = [result["operation"] for result in row["writes"]]
        kernel[results] = min(results)
    return Plan(kernel)


def lines_of(text: str) -> dict[str, list[str]]:
    """Words of each line by its first word."""
    return {line.split()[0]: line.split() for line in text.splitlines() if line}


def test_the_plan_of_an_onnx_file_is_legal_and_holds_all_operations(tmp_path: Path) -> None:
    result = run(SQUEEZENET, "--fuse", "--plan", tmp_path / "plan.json")
    assert result.exit_code == 0, result.output
    source = read_file(SQUEEZENET, {})
    problem = fusion_problem(source.graph, frozen_rates())
    content = json.loads((tmp_path / "plan.json").read_text())
    plan = plan_in(content, problem)
    assert violations(problem, plan) == [] and plan.kernels == len(content["kernels"]) < len(source.graph)
    computed = [[operation["operation"] for operation in row["computes"]] for row in content["kernels"]]
    assert sorted(map(set, computed), key=min) == sorted(members(problem, plan).values(), key=min)
    assert {i for group in computed for i in group} == set(range(len(source.graph)))
    named = [row for kernel in content["kernels"] for row in kernel["computes"] + kernel["writes"]]
    assert all(source.names[row["operation"]] == row["name"] for row in named)
    lines = lines_of(result.stdout)
    assert [line for line in lines if line in METHODS] == METHODS
    assert lines["separate"][1] == "65" and lines[content["method"]][1] == str(plan.kernels)
    assert float(lines[content["method"]][2]) == pytest.approx(1e3 * content["seconds"], rel=1e-3)
    assert "TorchInductor" not in result.output  # it compiles no ONNX files


def test_kernels_of_a_plan_can_run_in_the_sequence_that_is_written(tmp_path: Path) -> None:
    assert run(SQUEEZENET, "--fuse", "--plan", tmp_path / "plan.json").exit_code == 0
    problem = fusion_problem(read_file(SQUEEZENET, {}).graph, frozen_rates())
    stored: set[int] = set()
    for row in json.loads((tmp_path / "plan.json").read_text())["kernels"]:
        group = {operation["operation"] for operation in row["computes"]}
        for i in group:
            parents = problem.parents[problem.parent_offsets[i] : problem.parent_offsets[i + 1]]
            assert set(parents.tolist()) <= group | stored
        stored |= {result["operation"] for result in row["writes"]}


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        assert run(SQUEEZENET, "--fuse", "--seed", "3", "--plan", tmp_path / name).exit_code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_refused(tmp_path: Path) -> None:
    message = refused(SQUEEZENET, "--fuse", "--devices", "2", "--link", "pcie", "--gantt", tmp_path / "a.png")
    assert "leave out --devices, --link, --gantt" in message  # although pcie is the default
    for option, value in (("--by", "classical"), ("--trace", "a"), ("--split", "a"), ("--moves", "1")):
        assert f"leave out {option}" in refused(SQUEEZENET, "--fuse", option, value)
    assert "plan.json: only --fuse writes a plan" in refused(SQUEEZENET, "--plan", tmp_path / "plan.json")
    assert "another file has this name" in refused(SQUEEZENET, "--fuse", "--plan", SQUEEZENET)
    assert "--training: for module:Class alone" in refused(SQUEEZENET, "--fuse", "--training")
    assert "--plan" in refused(RESNET, "--fuse", "--plan", tmp_path)
    profiled = refused(RESNET, "--fuse", "--plan", tmp_path / "plan.json")
    assert f"{RESNET}: a profiled workload only has run times" in profiled and "name an ONNX file" in profiled
    assert not list(tmp_path.iterdir())
    assert "it has no operations" in refused(written(tmp_path, [], []), "--fuse")


def test_without_a_compiler_a_module_is_planned_and_the_reason_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse, "missing", lambda: "TorchInductor needs g++: `make g++`")
    words = ("--input", "16,8", "--input", "int64:16")
    result = run("fused_module:Rows", *words, "--fuse", "--plan", "plan.json")
    assert result.exit_code == 0 and "The module is not compiled: TorchInductor needs g++: `make g++`" in result.stdout
    kernels = json.loads((folder / "plan.json").read_text())["kernels"]
    assert {row["name"] for kernel in kernels for row in kernel["computes"]} >= {"table (embedding)", "Rows (_softmax)"}
    monkeypatch.setattr(fuse, "_MOST_OPERATIONS", 3)
    assert "it has more than 3 operations" in run("fused_module:Rows", *words, "--fuse").stdout


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_module_is_compiled_and_timed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learned_schedulers.graphs.plans.compiled_module.PROPOSALS", 1)
    result = run("fused_module:Rows", "--input", "16,8", "--input", "int64:16", "--fuse")
    assert result.exit_code == 0, result.output
    lines = lines_of(result.stdout)
    assert [name for name in lines if name in ("default", "control")] == ["default", "control"]
    assert lines["default"][1] == lines["control"][1]  # kernels
    assert lines["default"][5] == "1.000" and float(lines["control"][5]) > 0
    assert "proposal_1" in lines and "scheduler nodes before fusion" in result.stdout
    assert "keep Inductor's default" in result.stdout or "measure again" in result.stdout


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_modules_with_nothing_to_compile_keep_their_plan(folder: Path) -> None:
    alone = run("fused_module:Alone", "--input", "16,8", "--fuse", "--plan", "plan.json")
    assert alone.exit_code == 0 and "before fusion: 1. It may fuse none" in alone.stdout
    assert "there is nothing to fuse" in alone.stdout and (folder / "plan.json").exists()
    jumps = run("fused_module:Jumps", "--input", "16,8", "--fuse")
    assert jumps.exit_code == 0 and "TorchInductor cannot compile the module: Unsupported: " in jumps.stdout
