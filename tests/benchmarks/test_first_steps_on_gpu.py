"""Networks on a CPU are compared with themselves; a different network is told; without a GPU nothing is published."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from typer import Exit

from benchmarks import first_steps_on_gpu as gpu
from pipeline.config.params import load

PARAMETERS = load(Path(__file__).parents[2] / "params.test.yaml")


@pytest.mark.parametrize("name", gpu.STARTS)
def test_a_network_is_equal_to_itself(name: str) -> None:
    torch.manual_seed(0)
    start = gpu.STARTS[name](PARAMETERS)
    comparison = gpu.compared(start, "cpu", 0.01)
    assert comparison.loss_difference == 0 and comparison.gradient_difference == 0
    assert comparison.cpu > 0 and comparison.device > 0


def test_other_numbers_on_the_device_are_told() -> None:
    torch.manual_seed(0)
    start = gpu.STARTS["policy"](PARAMETERS)
    calls = []

    def loss(network: torch.nn.Module, device: str) -> torch.Tensor:
        calls.append(device)
        return start.loss(network, device) * (1 if len(calls) == 1 else 1.01)

    comparison = gpu.compared(gpu.Start(start.network, loss), "cpu", 0.01)
    assert comparison.loss_difference == pytest.approx(0.01, rel=1e-3)
    assert comparison.gradient_difference == pytest.approx(0.01, rel=1e-3)


def test_without_a_gpu_it_ends_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(gpu, "load", None)
    with pytest.raises(Exit) as ended:
        gpu.main(tmp_path / "out")
    assert ended.value.exit_code == 1 and not (tmp_path / "out").exists()
    assert "no GPU of CUDA is here" in capsys.readouterr().err
