"""The condition that a policy reads beside the graph: the temperature sigma, and the transfers and noise of the target.

The reward is log R = (speedup - m) / sigma (Zhang et al. 2023, equation 3). If an operation is delayed by the mean run
time, the reward changes by about speedup^2 / operations / sigma, which depends on the graph, too. The network reads the
logarithm of this number, with the largest speedup that the bound allows, instead of the logarithm of sigma, so that
graphs of another size do not lead to new values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from learned_schedulers.graphs.models.policy_settings import SigmaUnit
from learned_schedulers.graphs.problems.problem import Problem, Transfers

N_CONDITIONS = 4
# Limits of the slope and the delay, in mean run times. Training draws log-uniformly between them; the frozen targets
# lie between them, too.
LEAST, MOST = 0.05, 10.0
_MOST_NOISE = 1.0
_PLAIN_SHARE = 0.25  # share of the draws in training that have no transfers


@dataclass(frozen=True)
class Strengths:
    """A family of targets around the proxy: transfers in mean run times, noise as in devices/targets.py."""

    slope: float = 0.0  # for a result of the mean size
    delay: float = 0.0
    noise: float = 0.0  # standard deviation of the logarithm of a run time

    def transferring(self, problem: Problem) -> Problem:
        """The problem with these transfers."""
        unit = float(problem.seconds.mean()) if len(problem) else 0.0
        size = float(problem.sizes.mean()) if problem.sizes.any() else 1.0
        return replace(problem, transfers=Transfers(slope=self.slope * unit / size, delay=self.delay * unit))


PLAIN = Strengths()


def draw_strengths(rng: np.random.Generator) -> Strengths:
    """Strengths for a step of training: those of `draw_strengths_between`, in some draws without transfers."""
    plain = rng.random() < _PLAIN_SHARE
    strengths = draw_strengths_between(rng, LEAST, MOST)
    return Strengths(noise=strengths.noise) if plain else strengths


def draw_strengths_between(rng: np.random.Generator, least: float, most: float) -> Strengths:
    """Transfers with a slope, a delay or both, log-uniform between the limits; half of the draws have noise."""
    kind, noisy = rng.integers(3), rng.random() < 0.5
    slope, delay = np.exp(rng.uniform(np.log(least), np.log(most), 2)).tolist()
    noise = float(rng.uniform(0, _MOST_NOISE)) if noisy else 0.0
    return Strengths(slope if kind != 1 else 0.0, delay if kind != 0 else 0.0, noise)


def at_stake(problem: Problem) -> float:
    """The speedup that is lost if the end is delayed by the mean run time, at the largest speedup that is possible."""
    most = float(problem.seconds.sum()) / problem.bound if problem.bound else 1.0
    return most**2 / max(len(problem), 1)


def temperature(problem: Problem, sigma: float, unit: SigmaUnit) -> float:
    """sigma in units of the speedup; it is given in these, as in the paper, or in units of `at_stake`.

    Equal numbers of the second unit make the policy equally strict on large and small graphs, of high and low speedups.
    """
    return sigma if unit == "speedup" else sigma * at_stake(problem)


def condition(problem: Problem, sigma: float, strengths: Strengths, batch: int) -> torch.Tensor:
    """(B, N_CONDITIONS) float32 with equal rows; sigma is in units of the speedup."""
    row = [np.log(at_stake(problem) / sigma), np.log1p(strengths.slope), np.log1p(strengths.delay), strengths.noise]
    return torch.tensor([row], dtype=torch.float32).repeat(batch, 1)
