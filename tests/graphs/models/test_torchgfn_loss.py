"""Our log-partition variance is torchgfn's, on schedules of untrained policies: torchgfn 2.4.1's are stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from learned_schedulers.graphs.models.flow_loss import log_partition_variance

STORED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "torchgfn_loss.json").read_text())
KEYS = ("log_rewards", "forward", "backward")


def tensors(batch: dict[str, Any]) -> list[torch.Tensor]:
    return [torch.tensor(batch[key], dtype=torch.float64) for key in KEYS]


@pytest.mark.parametrize("name", STORED)
def test_the_loss_and_its_gradient_are_those_of_torchgfn(name: str) -> None:
    """Without a factor: by default torchgfn squares (SquaredLoss), and takes the mean, of deviations from the mean."""
    log_rewards, forward, backward = tensors(STORED[name])
    forward.requires_grad_(True)
    loss = log_partition_variance(log_rewards, forward, backward)
    assert float(loss.detach()) == pytest.approx(STORED[name]["loss"], rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, forward)
    expected = torch.tensor(STORED[name]["gradient"], dtype=torch.float64).expand_as(gradient)
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-9 * float(expected.abs().max()))


def test_the_stored_batches_can_tell_right_from_wrong() -> None:
    """P_B matters in most batches; in all of them rewards differ and no loss is near 0."""
    differing = 0
    for batch in STORED.values():
        log_rewards, forward, backward = tensors(batch)
        assert log_rewards.std() > 1e-3 and (forward <= 0).all() and (backward <= 0).all() and batch["loss"] > 1e-3
        without_backward = float(log_partition_variance(log_rewards, forward, 0 * backward))
        differing += without_backward != pytest.approx(batch["loss"], rel=1e-3)
    assert differing >= 3
