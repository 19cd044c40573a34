"""Proximal policy optimisation: by hand, its first gradient, and a short training."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused, ppo_loss
from learned_schedulers.graphs.models.conditions import condition
from learned_schedulers.graphs.models.policy import make
from learned_schedulers.graphs.models.policy_training import measure, train
from learned_schedulers.graphs.models.rollout import LogProbabilities, log_probabilities
from learned_schedulers.graphs.models.topoformer import graph_view
from tests.graphs.models.small_policies import SIGMA, TOLD, policy, problem, settings

# Two steps of two trajectories, whose speedups are 1 more and 1 less than their mean.
VALUES = torch.tensor([[0.1, 0.2], [0.3, 0.1]])
SPEEDUPS = torch.tensor([3.0, 1.0], dtype=torch.float64)
# Last step: 1 - .3 and -1 - .1; first: .3 - .1 and .1 - .2, and .95 of the last one's.
PLAIN_ADVANTAGES = torch.tensor([[0.2 + 0.95 * 0.7, -0.1 - 0.95 * 1.1], [0.7, -1.1]])
RETURNS = PLAIN_ADVANTAGES + VALUES
ADVANTAGES = (PLAIN_ADVANTAGES - PLAIN_ADVANTAGES.mean()) / PLAIN_ADVANTAGES.std()


def passes(monkeypatch: pytest.MonkeyPatch, forward: list[torch.Tensor], entropy_weight: float) -> list[torch.Tensor]:
    """The loss of each pass, if the policy has these log P_F, and always the same values and entropies."""
    log_probabilities = iter(
        LogProbabilities(log_forward, torch.zeros(2, 2), torch.full((2, 2), 0.4), VALUES) for log_forward in forward
    )
    monkeypatch.setattr(ppo_loss, "log_probabilities", lambda *arguments: next(log_probabilities))
    stub: Any = SimpleNamespace(read=lambda view: view)
    rollouts: Any = None
    return list(ppo_loss.losses(stub, None, rollouts, torch.zeros(2, 4), SPEEDUPS, entropy_weight))


def test_advantages_and_returns_by_hand() -> None:
    advantages, returns = ppo_loss._advantages_and_returns(VALUES.clone(), torch.tensor([1.0, -1.0]))
    torch.testing.assert_close(returns, torch.tensor([[0.965, -0.945], [1.0, -1.0]]))
    torch.testing.assert_close(advantages, ADVANTAGES)
    assert float(advantages.mean()) == pytest.approx(0, abs=1e-6) and float(advantages.std()) == pytest.approx(1)


def test_losses_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios count between .8 and 1.2 where that makes the gain less."""
    before = torch.tensor([[-1.0, -2.0], [-0.5, -0.7]])
    logs = torch.tensor([[0.5, 0.1], [-0.5, -0.5]])  # of the ratios of the second pass
    after = (before + logs).requires_grad_(True)
    first, second, third = passes(monkeypatch, [before, after, before], 0.1)
    error = float((VALUES - RETURNS).square().mean()) / 2
    assert float(first) == float(third) == pytest.approx(error - 0.1 * 0.4, abs=1e-6)  # their mean advantage is 0
    ratios = [1.2, np.exp(0.1), np.exp(-0.5), 0.8]  # advantages: +, -, +, -
    gain = float((torch.tensor(ratios) * ADVANTAGES.flatten()).mean())
    assert float(second.detach()) == pytest.approx(error - gain - 0.1 * 0.4, abs=1e-6)
    (gradient,) = torch.autograd.grad(second, after)
    expected = -ADVANTAGES * logs.exp() / 4 * torch.tensor([[0.0, 1.0], [1.0, 0.0]])  # none where it is clipped
    torch.testing.assert_close(gradient, expected)


def test_the_first_gradient_is_that_of_the_advantages() -> None:
    """As in REINFORCE: the gradient of -mean(advantage log P_F). The head for values is left out."""
    network, job, batch = policy(objective="ppo"), problem(2, 7), 8
    torch.nn.init.zeros_(network.value.weight)
    view, conditions = graph_view(job), condition(job, SIGMA, TOLD, batch)
    moved, generator = TOLD.transferring(job), torch.Generator().manual_seed(0)
    environment = Environment(moved, batch)
    with torch.no_grad():
        graph = network.read(view)
    rollouts = fused.trajectories(network, graph, moved, environment, conditions, generator)
    speedups = job.seconds.sum() / environment.makespan
    body = [p for name, p in network.named_parameters() if not name.startswith("value")]

    def gradients(loss: torch.Tensor) -> list[torch.Tensor]:
        return list(torch.autograd.grad(loss, body, materialize_grads=True, allow_unused=True))

    ours = gradients(next(ppo_loss.losses(network, view, rollouts, conditions, speedups, 0.0)))
    now = log_probabilities(network, network.read(view), rollouts, conditions)
    advantages, _ = ppo_loss._advantages_and_returns(now.values.detach(), (speedups - speedups.mean()).float())
    for ours_part, expected_part in zip(ours, gradients(-(advantages * now.forward).mean()), strict=True):
        torch.testing.assert_close(ours_part, expected_part, atol=1e-6, rtol=1e-4)


def test_a_short_training_raises_the_mean_speedup() -> None:
    job = problem(1, 6, 2)
    chosen = settings(objective="ppo", start="nothing", steps=24, measurements=4)
    torch.manual_seed(0)
    before = measure(make(chosen), [job])["mean"]
    trained, history = train([[job]], [job], chosen, 0)
    assert measure(trained, [job])["mean"] > 1.15 * before
    means = [row["mean"] for row in history if row["split"] == "training"]
    assert means[-1] > 1.1 * means[0]
