"""Losses and training of POCSNet: learning, determinism, resuming."""

from __future__ import annotations

import math

import pytest
import torch

from learned_schedulers.blocks.models.pocsnet_training import train
from learned_schedulers.learning.loop import Diverged
from learned_schedulers.operators.losses import cross_entropy, fenchel_young
from learned_schedulers.operators.popocs import popocs
from tests.blocks.models import made


def test_cross_entropy_of_a_known_matrix() -> None:
    matrix = torch.tensor([[[0.5, 0.5], [0.25, 0.75]]])
    loss = cross_entropy(matrix, torch.tensor([[0, 1]]), 1e-6)
    assert loss.item() == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)


def test_cross_entropy_is_smooth_at_its_floor_and_learns_below() -> None:
    entry = torch.tensor([-0.5, 0.0, 0.0999, 0.1001], requires_grad=True)
    losses = [cross_entropy(e.view(1, 1, 1), torch.zeros(1, 1, dtype=torch.long), 0.1) for e in entry]
    assert losses[0] > losses[1] > losses[2] > losses[3]
    assert losses[2].item() == pytest.approx(losses[3].item(), abs=3e-3)
    torch.stack(losses).sum().backward()
    assert entry.grad is not None and entry.grad.tolist() == pytest.approx([-10, -10, -10, -1 / 0.1001], rel=1e-4)


def test_fenchel_young_gradient_is_projection_minus_truth() -> None:
    proposal = torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    precedes = torch.ones(3, 4, 4).triu(1).bool()
    slots = torch.arange(4).repeat(3, 1)
    matrix = popocs(proposal, precedes, method="nearest")
    fenchel_young(proposal, matrix, slots).backward()
    assert proposal.grad is not None
    torch.testing.assert_close(proposal.grad, (matrix.detach() - torch.eye(4)) / 3)


@pytest.mark.parametrize("operator", ["sinkhorn", "popocs"])
def test_training_lowers_the_loss(operator: str) -> None:
    settings = made.SETTINGS.model_copy(update={"operator": operator, "steps": 150, "learning_rate": 0.03})
    _, history = train(made.blocks(64), made.blocks(32, seed=1), settings, 0)
    losses = [row["loss"] for row in history if row["split"] == "training"]
    assert losses[-1] < losses[0] * 0.9


def test_a_diverging_loss_is_an_error() -> None:
    settings = made.SETTINGS.model_copy(update={"optimiser": "sgd", "learning_rate": 1e30})
    with pytest.raises(Diverged, match="lower learning_rate"):
        train(made.blocks(64), made.blocks(32, seed=1), settings, 0)
