"""What a policy is told beside the graph: the temperature sigma, and what transfers and noise the target has.

The reward is log R = (speedup - m) / sigma (Zhang et al. 2023, equation 3). How much of it is at stake where an
operation is delayed by the mean run time depends on the graph, too: speedup^2 / operations / sigma. The network is
told the logarithm of this, with the largest speedup that the bound allows, and not that of sigma, so that graphs of
another size ask nothing new of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from pipeline.config.policy import SigmaUnit
from pipeline.graphs.problems.problem import Problem, Transfers

N_CONDITIONS = 4
# Of training: the slope and the delay are drawn log-uniform between, in mean run times; the frozen targets lie inside.
LEAST, MOST = 0.05, 10.0
_MOST_NOISE = 1.0
_PLAIN_SHARE = 0.25  # of draws of training without transfers


@dataclass(frozen=True)
class Strengths:
    """A family of targets around the proxy: transfers in mean run times, noise as in devices/targets.py."""

    slope: float = 0.0  # of a result of the mean size
    delay: float = 0.0
    noise: float = 0.0  # standard deviation of the logarithm of a run time

    def transferring(self, problem: Problem) -> Problem:
        """The problem with these transfers."""
        unit = float(problem.seconds.mean()) if len(problem) else 0.0
        size = float(problem.sizes.mean()) if problem.sizes.any() else 1.0
        return replace(problem, transfers=Transfers(slope=self.slope * unit / size, delay=self.delay * unit))


PLAIN = Strengths()


def drawn(rng: np.random.Generator) -> Strengths:
    """Of training: no transfers, or those of `drawn_between`; noise in half of the draws."""
    plain = rng.random() < _PLAIN_SHARE
    strengths = drawn_between(rng, LEAST, MOST)
    return Strengths(noise=strengths.noise) if plain else strengths


def drawn_between(rng: np.random.Generator, least: float, most: float) -> Strengths:
    """Transfers bound by bytes, by delay or by both, log-uniform between the two; noise in half of the draws."""
    kind, noisy = rng.integers(3), rng.random() < 0.5
    slope, delay = np.exp(rng.uniform(np.log(least), np.log(most), 2)).tolist()
    noise = float(rng.uniform(0, _MOST_NOISE)) if noisy else 0.0
    return Strengths(slope if kind != 1 else 0.0, delay if kind != 0 else 0.0, noise)


def at_stake(problem: Problem) -> float:
    """How much speedup a delay of the end by the mean run time costs, where the speedup is the most possible."""
    most = float(problem.seconds.sum()) / problem.bound if problem.bound else 1.0
    return most**2 / max(len(problem), 1)


def temperature(problem: Problem, sigma: float, unit: SigmaUnit) -> float:
    """sigma of the speedup, given in speedups as in the paper, or in what the delay by a mean run time costs.

    Equal numbers of the second unit make schedules of large and small graphs, of high and low speedups, equally strict.
    """
    return sigma if unit == "speedup" else sigma * at_stake(problem)


def condition(problem: Problem, sigma: float, strengths: Strengths, batch: int) -> torch.Tensor:
    """(B, N_CONDITIONS) float32, the same for all; sigma: of the speedup."""
    told = [np.log(at_stake(problem) / sigma), np.log1p(strengths.slope), np.log1p(strengths.delay), strengths.noise]
    return torch.tensor([told], dtype=torch.float32).repeat(batch, 1)
