"""What a method is told of transfers and noise: the target's if it is known, or several drawn ones if it is not."""

from __future__ import annotations

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.method_settings import ToldSettings
from learned_schedulers.graphs.models.conditions import PLAIN, Strengths, draw_strengths_between
from learned_schedulers.graphs.problems.problem import Problem


def expected_transfers(
    settings: ToldSettings, problem: Problem, target: Target | None, rng: np.random.Generator
) -> list[tuple[Problem, Strengths]]:
    """The problem with each of the transfers that a method is told, and their strengths; target: if it is known."""
    if target is not None:
        return [(target.mean, strengths_of(target))]
    if settings.told == "proxy":
        return [(problem, PLAIN)]
    least, most = settings.least_strength, settings.most_strength
    draws = [draw_strengths_between(rng, least, most) for _ in range(settings.strengths)]
    return [(strengths.transferring(problem), strengths) for strengths in draws]


def strengths_of(target: Target) -> Strengths:
    """The transfers and the noise of a target, in the units in which a policy is told them."""
    mean = target.mean
    unit = float(mean.seconds.mean()) if mean.seconds.any() else 1.0
    size = float(mean.sizes.mean()) if len(mean) else 0.0
    logs = np.log([draw.seconds[draw.seconds > 0] for draw in target.draws])
    noise = float(np.sqrt(logs.var(0, ddof=1).mean())) if len(target.draws) > 1 and logs.size else 0.0
    slope, delay = mean.transfers.mean
    return Strengths(slope * size / unit, delay / unit, noise)
