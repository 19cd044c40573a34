"""The loss of a GFlowNet that does not learn the partition function: the variance of its estimates of log Z."""

from __future__ import annotations

import torch


def log_partition(log_rewards: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor) -> torch.Tensor:
    """zeta = log R + sum log P_B - sum log P_F of each trajectory, (B,); for a perfect flow all of them equal log Z.

    log_rewards: (B,); forward, backward: (n, B), of each step.
    """
    return log_rewards + backward.sum(0) - forward.sum(0)


def log_partition_variance(log_rewards: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor) -> torch.Tensor:
    """Mean square of the deviations of zeta from its mean over the batch (Zhang et al. 2023, equation 8; 2022). ()"""
    zeta = log_partition(log_rewards, forward, backward)
    return (zeta - zeta.mean()).square().mean()
