"""Training by self-labelling: the shortest of the policy's own schedules is the label of the next step.

Corsini, Porrello, Calderara and Dell'Amico 2024, "Self-Labeling the Job Shop Scheduling Problem" (NeurIPS). For each
drawn job-shop the policy draws schedules; the loss is the mean negative log-likelihood of the decisions of the shortest
one. No optimum, reward or critic is needed. Deviations: the paper's network reads the graph by attention and chooses
among all jobs; ours scores the candidates of active schedules by numbers that a scheduler would look at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from learned_schedulers.learning import loop
from learned_schedulers.projects.models.active import Shop
from learned_schedulers.projects.models.candidate_network import CandidateNetwork
from learned_schedulers.projects.models.candidate_policy import Decisions, Weights, drawn, followed
from learned_schedulers.projects.models.drawn_job_shops import job_shop
from learned_schedulers.projects.models.settings import CandidatePolicy
from learned_schedulers.projects.problem import JobShop, project_of

_CLIP = 1.0  # of the gradient's norm
_LEAST = 0.05  # share of the learning rate at the end
_DEVELOPMENT_SEED = 2024


class _Numbers(NamedTuple):
    """Of one step."""

    loss: float
    ratio: float  # mean of the labels' makespans over their lower bounds


def train(
    settings: CandidatePolicy, seed: int, resume: loop.State | None, save: Callable[[loop.State], None]
) -> tuple[CandidateNetwork, list[loop.Row]]:
    """The trained network and the history: loss and ratio of makespan to lower bound, of labels and of greedy choices.

    resume, save: checkpoints (loop.run). Raises loop.Diverged if the loss is not finite.
    """
    torch.manual_seed(seed)
    network = CandidateNetwork(settings.width)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    development = [
        job_shop(np.random.default_rng([_DEVELOPMENT_SEED, number]), *size)
        for number, size in enumerate(settings.development)
    ]

    def step(number: int) -> _Numbers:
        rng = np.random.default_rng([seed, number])
        jobs, machines = settings.sizes[number % len(settings.sizes)]
        weights = weights_of(network)
        decisions, ratios = [], []
        for _ in range(settings.job_shops):
            drawn_shop = job_shop(rng, jobs, machines)
            shop = Shop.of(drawn_shop)
            makespans, starts = drawn(shop, weights, rng.random((settings.schedules, jobs * machines)))
            decisions.append(followed(shop, starts[int(makespans.argmin())]))
            ratios.append(makespans.min() / project_of(drawn_shop).bound)
        label = Decisions(*map(np.concatenate, zip(*decisions, strict=True)))
        loss = network.negative_log_likelihood(*map(torch.from_numpy, label)).mean()
        optimiser.zero_grad()
        loss.backward()
        loop.descend(network, optimiser, _CLIP)
        return _Numbers(loss.item(), float(np.mean(ratios)))

    def summary(numbers: list[_Numbers]) -> loop.Row:
        return {"loss": float(np.mean([n.loss for n in numbers])), "ratio": float(np.mean([n.ratio for n in numbers]))}

    def measure() -> loop.Row:
        weights = weights_of(network)
        return {"ratio": float(np.mean([greedy_ratio(weights, shop) for shop in development]))}

    def rate(number: int) -> float:
        left = 1 - (1 - _LEAST) * number / settings.steps
        return settings.learning_rate * min(1.0, (number + 1) / settings.warmup) * left

    training = loop.Training(
        network, optimiser, step, summary, measure, settings.steps, settings.measurements, rate=rate
    )
    return network, loop.run(training, resume, save)


def weights_of(network: CandidateNetwork) -> Weights:
    """The network's weights for compiled code."""
    return Weights.of({name: weight.numpy().copy() for name, weight in network.state_dict().items()})


def greedy_ratio(weights: Weights, drawn_shop: JobShop) -> float:
    """The makespan of the policy's first choices over the lower bound of all schedules."""
    makespans, _ = drawn(Shop.of(drawn_shop), weights, np.full((1, drawn_shop.machines.size), -1.0))
    return float(makespans[0]) / project_of(drawn_shop).bound
