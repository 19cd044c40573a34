"""Training of a policy that builds schedules; it resumes at any measurement, and ends with the same bytes.

Several processes (`torchrun`) draw the same trajectories and share their gradients; numbers are those of one process up
to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.devices.targets import noisy
from learned_schedulers.graphs.environment.batched import Environment
from learned_schedulers.graphs.models import fused, ppo_loss
from learned_schedulers.graphs.models.conditions import (
    PLAIN,
    Strengths,
    at_stake,
    condition,
    draw_strengths,
    temperature,
)
from learned_schedulers.graphs.models.flow_loss import log_partition_variance
from learned_schedulers.graphs.models.policy import Graph, Policy, make
from learned_schedulers.graphs.models.policy_settings import Policy as Settings
from learned_schedulers.graphs.models.rollout import log_probabilities
from learned_schedulers.graphs.models.topoformer import GraphView, graph_view
from learned_schedulers.graphs.problems.problem import Problem
from learned_schedulers.learning import loop
from learned_schedulers.learning.loop import Row, State

_CLIP = 5.0  # largest norm of a step's gradient
_LEAST_RATE = 0.05  # share of the learning rate at the end
_NOISE_DRAWS = 4  # of run times; the reward under noise is their mean speedup
_MEASURED = 8  # the first development graphs
_MEASURED_SEED = 2**32 - 1


class StepInput(NamedTuple):
    """What one step of training learns from."""

    problem: Problem  # without transfers
    view: GraphView
    sigma: float
    strengths: Strengths


def train(
    training: Sequence[Sequence[Problem]],
    development: Sequence[Problem],
    settings: Settings,
    seed: int,
    resume: State | None = None,
    save: Callable[[State], None] = lambda state: None,
) -> tuple[Policy, list[Row]]:
    """The policy after the last step, and rows of table `policy_history`.

    training: sets of problems without transfers; every set is drawn equally often. Random numbers of a step depend on
    the seed and the step's number alone. `save` is called with the whole state at every measurement.
    Raises ValueError without problems for training or development, Diverged if the loss is not finite.
    """
    if not training or not all(training) or not development:
        counts = [len(problems) for problems in training]
        raise ValueError(f"{counts} training and {len(development)} development graphs; each set needs at least one")
    torch.manual_seed(seed)
    policy = make(settings)
    optimiser = torch.optim.Adam(policy.parameters(), settings.learning_rate)
    views: dict[int, GraphView] = {}

    def rate(number: int) -> float:
        return loop.warmed_constant(
            settings.learning_rate, number, settings.warmup, settings.steps, _LEAST_RATE, settings.decay
        )

    def step(number: int) -> tuple[float, float, float]:
        rng = np.random.default_rng([seed, number])
        drawn = _draw(training, views, settings, rng)
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        speedups, losses = _losses(policy, drawn, settings, generator, rng, 1 - number / settings.steps)
        value, norms = 0.0, []
        for loss in losses:
            optimiser.zero_grad()
            loss.backward()
            norms.append(float(loop.descend(policy, optimiser, _CLIP)))
            value = float(loss.detach())
        loop.check_finite([value, *norms], "step", number)  # at once: such weights draw no legal schedules
        return value, float(np.mean(norms)), float(speedups.mean())

    def summary(numbers: list[tuple[float, float, float]]) -> Row:
        return dict(zip(("loss", "gradient", "mean"), np.mean(numbers, 0).tolist(), strict=True))

    plan = loop.Training(
        policy, optimiser, step, summary, lambda: measure(policy, development), settings.steps, settings.measurements,
        rate=rate,
    )  # fmt: skip
    return policy, loop.run(plan, resume, save)


def measure(policy: Policy, problems: Sequence[Problem]) -> dict[str, float]:
    """The loss at the lowest sigma, and the mean and best speedup of as many schedules as a step draws, on the proxy.

    Speedups are shares of the upper bound, and means over the first problems.
    """
    settings = policy.settings
    numbers = []
    for rank, problem in enumerate(problems[:_MEASURED]):
        rng = np.random.default_rng([_MEASURED_SEED, rank])
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        sigma = temperature(problem, settings.least_sigma, settings.sigma_unit)
        drawn = StepInput(problem, graph_view(problem), sigma, PLAIN)
        with torch.no_grad():
            speedups, losses = _losses(policy, drawn, settings, generator, rng, 0.0)
            loss = float(next(losses))
        most = float(problem.seconds.sum()) / problem.bound
        numbers.append((loss, float(speedups.mean()) / most, float(speedups.max()) / most))
    loss, mean, best = np.mean(numbers, 0).tolist()
    return {"loss": loss, "mean": mean, "best": best}


def _draw(
    training: Sequence[Sequence[Problem]], views: dict[int, GraphView], settings: Settings, rng: np.random.Generator
) -> StepInput:
    problems = training[int(rng.integers(len(training)))]
    problem = problems[int(rng.integers(len(problems)))]
    if id(problem) not in views:
        views[id(problem)] = graph_view(problem)
    sigma = float(np.exp(rng.uniform(np.log(settings.least_sigma), np.log(settings.most_sigma))))
    sigma = temperature(problem, sigma, settings.sigma_unit)
    return StepInput(problem, views[id(problem)], sigma, draw_strengths(rng) if settings.targets == "drawn" else PLAIN)


def _losses(
    policy: Policy,
    drawn: StepInput,
    settings: Settings,
    generator: torch.Generator,
    rng: np.random.Generator,
    remaining: float,
) -> tuple[torch.Tensor, Iterator[torch.Tensor]]:
    """Speedups of new trajectories, (B,), and the losses, one for each step of the optimiser.

    remaining: share of the training's steps that are still to come.
    """
    problem = drawn.strengths.transferring(drawn.problem)
    conditions = condition(problem, drawn.sigma, drawn.strengths, settings.trajectories)
    graph = policy.read(drawn.view)
    without_gradient = Graph(*(part.detach() for part in graph))
    environment = Environment(problem, settings.trajectories, settings.sequence)
    rollouts = fused.trajectories(policy, without_gradient, problem, environment, conditions, generator)
    speedups = _speedups(problem, drawn.strengths, environment, rollouts.orders, rng)
    if settings.objective == "ppo":
        return speedups, ppo_loss.losses(
            policy, drawn.view, rollouts, conditions, speedups, settings.entropy * remaining
        )

    def flow() -> Iterator[torch.Tensor]:
        logs = log_probabilities(policy, graph, rollouts, conditions)
        log_rewards = ((speedups - problem.devices) / drawn.sigma).to(logs.forward.dtype)
        weight = drawn.sigma / at_stake(problem) if settings.loss_weight == "sigma" else 1.0
        yield weight * log_partition_variance(log_rewards, logs.forward, logs.backward)

    return speedups, flow()


def _speedups(
    problem: Problem, strengths: Strengths, environment: Environment, orders: torch.Tensor, rng: np.random.Generator
) -> torch.Tensor:
    """(B,): total run time over makespan; under noise the mean over some draws of all run times."""
    if not strengths.noise:
        return problem.seconds.sum() / environment.makespan
    normals = rng.standard_normal((_NOISE_DRAWS, len(problem)))
    schedules = orders.numpy().astype(np.int32), environment.placement.numpy().astype(np.int32)
    drawn_problems = [
        replace(draw, transfers=problem.transfers) for draw in noisy(problem, strengths.noise, normals).draws
    ]
    return torch.from_numpy(np.mean([draw.seconds.sum() / makespans(draw, *schedules) for draw in drawn_problems], 0))
