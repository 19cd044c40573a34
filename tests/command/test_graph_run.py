"""`graph --device cpu` and `--run` as a user types them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import torch

from learned_schedulers import LEVEL_3
from learned_schedulers.graphs.plans import turns
from learned_schedulers.graphs.plans.pieces import sessions
from tests.command.test_graph import RESNET, refused, run
from tests.graphs.plans.pieces.small_files import two_towers, write

MODULE = """
from torch import nn

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)
    def forward(self, x):
        return self.first(x).tanh() + self.second(x).exp()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two_products.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "two_products", raising=False)
    monkeypatch.setattr(turns, "_LEAST_ROUNDS", 2)
    monkeypatch.setattr(turns, "_BUDGET", 0.0)
    for name in LEVEL_3:  # the command changes some of them
        monkeypatch.setenv(name, os.environ[name])
    return "two_products:Two"


@pytest.fixture
def file(module: str, tmp_path: Path) -> str:
    return str(write(tmp_path / "towers.onnx", two_towers("rows", 128)))


def test_cores_are_priced_and_plain_torch_is_predicted(module: str) -> None:
    result = run(module, "--input", "512,64", "--device", "cpu")
    assert result.exit_code == 0, result.output
    head, *_ = result.stdout.splitlines()
    assert re.search(
        r"5 operations, 4 edges; 2 cores of this machine, each with .* GB, measured just now: GFLOP/s", head
    )
    if len(os.sched_getaffinity(0)) > 1:
        assert re.search(
            r"predicted: plan .* ms, torch with 1 thread .* ms, torch with 2 threads .* ms; ", result.stdout
        )
    assert "run times as profiled" in run(RESNET, "--device", "cpu", "--moves", "0").stdout


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="plans are executed on two cores")
@pytest.mark.parametrize(
    ("words", "tensors", "note"),
    [
        ((), "result equals", ""),
        (("--training",), "5 tensors equal", "(a training step up to the gradients; --optimizer adds its step)"),
        (("--training", "--optimizer", "adam"), "9 tensors equal", "(with the step of adam, which the makespans"),
    ],
)
def test_a_plan_runs_beside_plain_torch(module: str, words: tuple[str, ...], tensors: str, note: str) -> None:
    result = run(module, "--input", "512,64", "--device", "cpu", "--run", *words)
    assert result.exit_code == 0, result.output
    assert re.search(r"^plan +\S+ ms +\S+ ms +\S+ ms to \S+ ms$", result.stdout, re.MULTILINE)
    assert re.search(r"2 rounds in turns: .*(is fastest|no difference)", result.stdout)
    assert f"The plan is right: its {tensors} plain torch's" in result.stdout and note in result.stdout


def test_a_file_needs_its_runtime(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda _: None)
    message = refused(file, "--size", "rows=64", "--device", "cpu", "--run")
    assert "onnxruntime, which is not installed: pip install 'learned-schedulers[runtime]'" in message


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="plans are executed on two cores")
def test_a_file_runs_beside_its_runtime(file: str) -> None:
    pytest.importorskip("onnxruntime", reason="pip install -e '.[runtime]' -c constraints.txt")
    result = run(file, "--size", "rows=64", "--device", "cpu", "--run")
    assert result.exit_code == 0, result.output
    assert re.search(r"predicted: plan .* ms, onnxruntime with 1 thread .* is expected to be fastest", result.stdout)
    assert "(by rates of torch's operations" in result.stdout
    assert re.search(r"^onnxruntime with 2 threads +\S+ ms +\S+ ms +\S+ ms to \S+ ms$", result.stdout, re.MULTILINE)
    assert "The plan is right: its 3 tensors equal plain onnxruntime's" in result.stdout
    assert "--value x: write the input's name and a number" in refused(
        file, "--size", "rows=64", "--device", "cpu", "--run", "--value", "x"
    )


def test_options_that_cannot_be_followed(module: str) -> None:
    shape = ("--input", "512,64")
    if not torch.cuda.is_available():
        assert "--run: torch sees no GPU here" in refused(module, *shape, "--device", "h100", "--run")
    on_gpu = ("--device", "h100", "--run")
    assert "--link: streams of a GPU share its memory" in refused(module, *shape, *on_gpu, "--link", "nvlink")
    assert "runs on cores of this machine alone; add --device cpu" in refused(RESNET, "--run")
    cpu = ("--device", "cpu")
    assert "leave out --devices 3" in refused(module, *shape, *cpu, "--run", "--devices", "3")
    assert "is a workload, which has times and no operations that could run" in refused(RESNET, *cpu, "--run")
    assert "--value x=1: for --run of an ONNX file alone" in refused(module, *shape, *cpu, "--run", "--value", "x=1")
    assert "--link: the cores of a machine share its memory" in refused(module, *shape, *cpu, "--link", "nvlink")
    assert "--tf32: cores have no tf32" in refused(module, *shape, *cpu, "--tf32")
    assert "leave out" in refused(module, *shape, "--fuse", "--run")
