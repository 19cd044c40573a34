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
            advantages, returns = _advantages_and_returns(
                current.values.detach(), (speedups - speedups.mean()).to(current.values.dtype)
            )
        assert advantages is not None and returns is not None
        ratio = (current.forward - old_forward).exp()
        clipped = ratio.clamp(1 - _CLIP, 1 + _CLIP)
        gain = torch.minimum(ratio * advantages, clipped * advantages).mean()
        error = (current.values - returns).square().mean()
        yield _VALUE_WEIGHT * error - gain - entropy_weight * current.entropy.mean()


def _advantages_and_returns(values: torch.Tensor, rewards: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised advantages, and returns, (n, B) each; rewards: (B,), at the last step. Rewards are not discounted."""
    following = torch.cat([values[1:], rewards[None]])
    advantages = following - values
    for step in range(len(values) - 2, -1, -1):
        advantages[step] += _LAMBDA * advantages[step + 1]
    returns = advantages + values
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8), returns
