"""The verb `run` as a user types it, where there is no GPU; and `graph --device cpu`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from learned_schedulers import LEVEL_3
from learned_schedulers.command.main import app
from tests.command.test_graph import MODULES, RESNET, refused, run


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_graph.py").write_text(MODULES)
    for name in LEVEL_3:  # the command changes some of them
        monkeypatch.setenv(name, os.environ[name])
    return "of_graph:Network"


def test_cores_are_priced_by_what_was_measured(network: str) -> None:
    result = run(network, "--input", "512,8", "--device", "cpu", "--moves", "0")
    assert result.exit_code == 0, result.output
    head, *_ = result.stdout.splitlines()
    pattern = r"1 operations, 0 edges; 2 cores of this machine, each with .* GB, measured just now: GFLOP/s"
    assert re.search(pattern, head)
    assert "Runtimes share one operation among several cores" in head
    assert "run times as profiled" in run(RESNET, "--device", "cpu", "--moves", "0").stdout


def test_options_without_a_meaning_for_cores() -> None:
    assert "--link: the cores of a machine share its memory" in refused(RESNET, "--device", "cpu", "--link", "pcie")
    assert "--tf32: cores have no tf32" in refused(RESNET, "--device", "cpu", "--tf32")


def test_run_needs_a_module_and_a_gpu(network: str) -> None:
    for words, message in (
        ([str(RESNET)], "only a torch module (module:Class) runs"),
        ([network, "--loss", "sum"], "--loss sum: only a training step has a loss"),
        ([network, "--input", "8,8"], "torch sees no GPU here"),
    ):
        if torch.cuda.is_available() and "GPU" in message:
            continue
        result = CliRunner().invoke(app, ["run", *words])
        assert result.exit_code == 1 and message in result.stderr, result.output


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU of CUDA")
def test_a_plan_runs_on_streams(network: str) -> None:
    result = CliRunner().invoke(app, ["run", network, "--input", "8,8", "--training", "--streams", "3"])
    assert result.exit_code == 0, result.output
    assert "3 streams of " in result.stdout and "The plan is right: its 3 tensors equal" in result.stdout
