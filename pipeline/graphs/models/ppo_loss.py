"""Proximal policy optimisation of the same policies: the peer of the GFlowNet in Zhang et al. 2023.

Schulman et al. 2017, with the details of CleanRL's implementation: advantages by generalised estimation and brought to
mean 0 and deviation 1, clipped ratios, several passes over the same trajectories. The reward is the speedup, at the
end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from pipeline.graphs.models.policy import Policy
from pipeline.graphs.models.rollout import Trajectories, log_probabilities

PASSES = 3
_CLIP = 0.2
_LAMBDA = 0.95
_VALUE_WEIGHT = 0.5


def losses(
    policy: Policy,
    view: Any,
    made: Trajectories,
    condition: torch.Tensor,
    speedups: torch.Tensor,
    entropy_weight: float,
) -> Iterator[torch.Tensor]:
    """The loss of each pass, to be lowered by a step before the next one is asked for.

    speedups: (B,). The value is learned of what is over the mean of the batch, which is of one graph.
    """
    old, advantages, returns = None, None, None
    for _ in range(PASSES):
        now = log_probabilities(policy, policy.read(view), made, condition)
        if old is None:
            old = now.forward.detach()
            advantages, returns = _estimated(now.values.detach(), (speedups - speedups.mean()).to(now.values.dtype))
        assert advantages is not None and returns is not None
        ratio = (now.forward - old).exp()
        clipped = ratio.clamp(1 - _CLIP, 1 + _CLIP)
        gain = torch.minimum(ratio * advantages, clipped * advantages).mean()
        error = (now.values - returns).square().mean()
        yield _VALUE_WEIGHT * error - gain - entropy_weight * now.entropy.mean()


def _estimated(values: torch.Tensor, rewards: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages, normalised, and returns, (n, B) each; rewards: (B,), of the last step. Nothing is discounted."""
    following = torch.cat([values[1:], rewards[None]])
    advantages = following - values
    for step in range(len(values) - 2, -1, -1):
        advantages[step] += _LAMBDA * advantages[step + 1]
    returns = advantages + values
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8), returns
