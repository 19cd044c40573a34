"""Proximal policy optimisation of the same policies: the method that Zhang et al. 2023 compare the GFlowNet with.

Schulman et al. 2017, with the details of CleanRL's implementation: generalised advantage estimation, advantages
normalised to mean 0 and deviation 1, clipped ratios, several passes over the same trajectories. The reward is the
speedup, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.rollout import Trajectories, log_probabilities

PASSES = 3
_CLIP = 0.2
_LAMBDA = 0.95
_VALUE_WEIGHT = 0.5


def losses(
    policy: Policy,
    view: Any,
    rollouts: Trajectories,
    condition: torch.Tensor,
    speedups: torch.Tensor,
    entropy_weight: float,
) -> Iterator[torch.Tensor]:
    """The loss of each pass; the caller takes a step of the optimiser before it asks for the next one.

    speedups: (B,), all of one graph. The value function learns the speedup less the mean of the batch.
    """
    old_forward, advantages, returns = None, None, None
    for _ in range(PASSES):
        current = log_probabilities(policy, policy.read(view), rollouts, condition)
        if old_forward is None:
            old_forward = current.forward.detach()
            rewards = torch.zeros_like(old_forward)
            rewards[-1] = (speedups - speedups.mean()).to(rewards.dtype)
            advantages, returns = _advantages_and_returns(current.values.detach(), rewards)
        assert advantages is not None and returns is not None
        error = (current.values - returns).square().mean()
        gain = _clipped(current.forward, old_forward, advantages)
        yield _VALUE_WEIGHT * error - gain - entropy_weight * current.entropy.mean()


def soft_losses(
    policy: Policy, view: Any, rollouts: Trajectories, condition: torch.Tensor, log_rewards: torch.Tensor
) -> Iterator[torch.Tensor]:
    """The same for a GFlowNet, whose flow is the policy of highest log R + sum log P_B - sum log P_F in the mean.

    So each step has the reward log P_B - log P_F, and values are logarithms of flows (Tiapkin et al. 2024, Deleu et al.
    2024); P_B learns the likelihood of what is drawn (Gritsaev et al. 2024). log_rewards: (B,), of one graph and sigma.
    """
    old_forward, advantages, returns = None, None, None
    unit = (-condition[:, 0]).exp()  # (B,) of what is at stake, in logarithms of rewards
    for _ in range(PASSES):
        current = log_probabilities(policy, policy.read(view), rollouts, condition)
        if old_forward is None:
            old_forward = current.forward.detach()
            rewards = current.backward.detach() - old_forward
            rewards[-1] += log_rewards.to(rewards.dtype)
            advantages, returns = _advantages_and_returns(current.values.detach(), rewards)
        assert advantages is not None and returns is not None
        error = (unit * (current.values - returns)).square().mean()
        gain = _clipped(current.forward, old_forward, advantages)
        yield _VALUE_WEIGHT * error - gain - current.backward.mean()


def _clipped(forward: torch.Tensor, old_forward: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    ratio = (forward - old_forward).exp()
    return torch.minimum(ratio * advantages, ratio.clamp(1 - _CLIP, 1 + _CLIP) * advantages).mean()


def _advantages_and_returns(values: torch.Tensor, rewards: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised advantages, and returns, (n, B) each; rewards: (n, B) of each step. Rewards are not discounted."""
    following = torch.cat([values[1:], torch.zeros_like(values[:1])])
    advantages = rewards + following - values
    for step in range(len(values) - 2, -1, -1):
        advantages[step] += _LAMBDA * advantages[step + 1]
    returns = advantages + values
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8), returns
