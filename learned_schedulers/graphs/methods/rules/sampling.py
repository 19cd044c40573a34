"""Schedules drawn from a trained policy, in parts, which bounds the memory."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused
from learned_schedulers.graphs.models.conditions import Strengths, condition
from learned_schedulers.graphs.models.policy import Policy
from learned_schedulers.graphs.models.topoformer import graph_view
from learned_schedulers.graphs.problems.problem import Problem

_PART = 250  # schedules at a time


def sampled(
    policy: Policy,
    problems: Sequence[tuple[Problem, Strengths]],
    sigma: float,
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Orders and placements of `count` schedules, (count, n) int32 each.

    problems: one graph with each of the transfers that the policy is told; each gets an equal share of the schedules.
    Parts are drawn side by side on the threads that numba may use, each on one thread: the products of a step are so
    small that further threads only wait for one another, on a busy computer fifty times as long as the work takes. The
    schedules are the same on any number of threads.
    """
    first = problems[0][0]
    n = len(first)
    if not n:
        nothing = np.zeros((count, 0), np.int32)
        return nothing, nothing
    shares = np.array_split(np.arange(count), len(problems))
    parts = [
        (problem, strengths, min(_PART, len(share) - begin), int(rng.integers(2**63)))
        for (problem, strengths), share in zip(problems, shares, strict=True)
        for begin in range(0, len(share), _PART)
    ]
    # BLAS has one number of threads for the process; OpenMP has one for each thread of Python.
    with threadpool_limits(1), ThreadPoolExecutor(numba.get_num_threads(), "sampling") as pool:
        with torch.inference_mode():
            graph = policy.read(graph_view(first))

        def draw_part(
            problem: Problem, strengths: Strengths, size: int, seed: int
        ) -> tuple[torch.Tensor, torch.Tensor]:
            with torch.inference_mode(), threadpool_limits(1, "openmp"):
                generator = torch.Generator().manual_seed(seed)
                environment = Environment(problem, size, policy.settings.sequence)
                conditions = condition(problem, sigma, strengths, size)
                return fused.schedules(policy, graph, problem, environment, conditions, generator)

        schedules = list(pool.map(draw_part, *zip(*parts, strict=True)))
    orders, placements = (torch.cat(part).numpy().astype(np.int32) for part in zip(*schedules, strict=True))
    return orders, placements
