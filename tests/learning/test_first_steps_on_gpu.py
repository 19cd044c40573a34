"""The first step of every network is the same on a GPU as on the CPU; a different network is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.lab.config.params import load
from tests.learning.first_steps import STARTS, Start, compared

ROOT = Path(__file__).parents[2]
SMALL = load(ROOT / "params.test.yaml")


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_a_network_is_equal_to_itself(name: str) -> None:
    torch.manual_seed(0)
    assert compared(STARTS[name](SMALL), "cpu") == (0, 0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU of CUDA")
@pytest.mark.parametrize("name", STARTS)
def test_a_gpu_gives_the_numbers_of_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the networks' real sizes."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # products of float32 like the CPU's
    torch.manual_seed(1)  # POCSNet of seed 0 stands at a kink of POPOCS: one last bit moves the CPU's gradient by 2%
    assert max(compared(STARTS[name](load(ROOT / "params.yaml")), "cuda")) < 1e-3


def test_other_numbers_on_the_device_are_told() -> None:
    torch.manual_seed(0)
    start, calls = STARTS[next(iter(STARTS))](SMALL), []

    def loss(network: torch.nn.Module, device: str) -> torch.Tensor:
        calls.append(device)
        return start.loss(network, device) * (1 if len(calls) == 1 else 1.01)

    assert compared(Start(start.network, loss), "cpu") == pytest.approx((0.01, 0.01), rel=1e-3)
