"""The verb `run` as a user types it, where there is no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from learned_schedulers.command.main import app
from tests.command.test_graph import MODULES, RESNET


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_graph.py").write_text(MODULES)
    return "of_graph:Network"


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
