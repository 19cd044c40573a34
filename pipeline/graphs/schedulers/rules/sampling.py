"""Schedules drawn from a trained policy, in parts, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pipeline.graphs.environment.batched import Environment
from pipeline.graphs.models import fused, rollout
from pipeline.graphs.models.conditions import Strengths, condition
from pipeline.graphs.models.policy import Policy
from pipeline.graphs.models.reads_once import ReadsOnce
from pipeline.graphs.models.topoformer import graph_view
from pipeline.graphs.problems.problem import Problem

_PART = 250  # schedules at a time


def sampled(
    policy: Policy,
    problems: Sequence[tuple[Problem, Strengths]],
    sigma: float,
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Orders and placements of `count` schedules, (count, n) int32 each.

    problems: one graph with the transfers that the policy is told; each gets an equal share of the schedules.
    """
    first = problems[0][0]
    n, tails = len(first), torch.from_numpy(first.tails.copy())
    if not n:
        nothing = np.zeros((count, 0), np.int32)
        return nothing, nothing
    with torch.inference_mode():
        graph: Any = policy.read(graph_view(first))
        parts = []
        for (problem, strengths), share in zip(problems, np.array_split(np.arange(count), len(problems)), strict=True):
            for begin in range(0, len(share), _PART):
                size = min(_PART, len(share) - begin)
                generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
                environment = Environment(problem, size, policy.settings.sequence)
                told = condition(problem, sigma, strengths, size)
                if isinstance(policy, ReadsOnce):
                    parts.append(fused.schedules(policy, graph, problem, environment, told, generator))
                else:
                    parts.append(rollout.schedules(policy, graph, environment, tails, told, generator))
    orders, placements = (torch.cat(part).numpy().astype(np.int32) for part in zip(*parts, strict=True))
    return orders, placements
