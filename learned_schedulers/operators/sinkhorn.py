"""Sinkhorn iteration: a matrix of logits -> a (nearly) doubly stochastic matrix."""

from __future__ import annotations

import torch


def log_sinkhorn(logits: torch.Tensor, iterations: int) -> torch.Tensor:
    """Logarithm of the Sinkhorn operator: divides the rows, then the columns, by their sums, `iterations` times.

    logits: (..., n, n). Returns (..., n, n); in its exponential the columns sum to 1, and in the limit the
    rows, too (Sinkhorn 1964; Mena et al. 2018, equation 3). The computation is in log space.
    """
    for _ in range(iterations):
        logits = logits - logits.logsumexp(-1, keepdim=True)
        logits = logits - logits.logsumexp(-2, keepdim=True)
    return logits


def sinkhorn(logits: torch.Tensor, iterations: int) -> torch.Tensor:
    """Soft permutation matrices (..., n, n) from logits (..., n, n)."""
    return log_sinkhorn(logits, iterations).exp()
