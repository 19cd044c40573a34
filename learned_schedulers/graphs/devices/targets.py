"""Targets, which schedules are judged on: the proxy that methods see, and others that differ from it as devices do.

Zhang et al. 2023, section 4.3: hidden run times, and transfers bound by bandwidth or by latency. The paper does not
publish their strengths; frozen ones are those at which list scheduling loses as much as in the paper's table
(judging.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from learned_schedulers.graphs.devices.blocking import blocking_makespans
from learned_schedulers.graphs.devices.settings import Link
from learned_schedulers.graphs.devices.simulator import makespans
from learned_schedulers.graphs.problems.problem import Problem, Transfers
from learned_schedulers.kernel_arrays import seal

HIDDEN_DRAWS = 10  # draws of all run times of a graph on the target `noisy`


@dataclass(frozen=True)
class Target:
    """A graph on its devices, with one or several draws of its run times; costs are means over the draws."""

    draws: tuple[Problem, ...]

    @property
    def mean(self) -> Problem:
        """The problem with the mean run time of each operation, for a method that builds one schedule."""
        if len(self.draws) == 1:
            return self.draws[0]
        return replace(self.draws[0], seconds=np.mean([draw.seconds for draw in self.draws], axis=0))

    @property
    def bound(self) -> float:
        """A lower bound of every schedule's cost."""
        return float(np.mean([draw.bound for draw in self.draws]))

    def seconds(self, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
        """Mean makespan over the draws of S schedules, (S,). Raises ValueError as the simulator does."""
        return np.mean([makespans(draw, orders, placements) for draw in self.draws], axis=0)

    def sealed(self) -> Self:
        """This target; from now on its arrays are read-only, also those that its problems compute when asked."""
        for draw in self.draws:
            seal((draw.parents, draw.parts, draw.heads, draw.tails, draw))
        return self


def proxy(problem: Problem) -> Target:
    """The target without transfers: every result is on all devices at once."""
    return Target((replace(problem, transfers=Transfers()),))


def noisy(problem: Problem, level: float, normals: np.ndarray) -> Target:
    """The target with log-normal run times, whose means are the run times of the proxy.

    level: standard deviation of their logarithms; normals: (draws, n), standard normal (`hidden`).
    """
    factors = np.exp(level * normals - level**2 / 2)
    return Target(tuple(replace(problem, seconds=problem.seconds * row, transfers=Transfers()) for row in factors))


def hidden(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """The hidden part of a graph's run times, the same for every level of noise: (HIDDEN_DRAWS, n) standard normal."""
    return rng.standard_normal((HIDDEN_DRAWS, len(problem)))


def bandwidth(problem: Problem, slope: float) -> Target:
    """Transfers without delay: a transfer of the mean size takes `slope` mean run times."""
    mean_size = float(problem.sizes.mean()) if problem.sizes.any() else 1.0  # without bytes any unit will do
    return Target((replace(problem, transfers=Transfers(slope=slope * _unit(problem) / mean_size)),))


def latency(problem: Problem, delay: float) -> Target:
    """Every transfer takes `delay` mean run times, independent of its size."""
    return Target((replace(problem, transfers=Transfers(delay=delay * _unit(problem))),))


@dataclass(frozen=True)
class BlockingTarget(Target):
    """Transfers during which sender and receiver compute nothing, as in the test bed of blocking.py."""

    def seconds(self, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
        super().seconds(orders, placements)  # which refuses a schedule that is not valid
        return np.mean([blocking_makespans(draw, orders, placements) for draw in self.draws], axis=0)


def blocking_bandwidth(problem: Problem, slope: float) -> Target:
    """A transfer takes `slope` times as long as the operation whose result it is."""
    return BlockingTarget((replace(problem, sizes=problem.seconds, transfers=Transfers(slope=slope)),))


def blocking_latency(problem: Problem, delay: float) -> Target:
    """Every transfer takes `delay` mean run times."""
    return BlockingTarget(latency(problem, delay).draws)


def linked(problem: Problem, link: Link) -> Target:
    """Transfers over a link with real figures; the run times must be those of real devices as well."""
    return Target((replace(problem, transfers=transfers_over(link)),))


def transfers_over(link: Link) -> Transfers:
    """The seconds of a transfer over a link with real figures."""
    return Transfers(slope=1 / link.bytes_per_second, delay=link.seconds)


def _unit(problem: Problem) -> float:
    return float(problem.seconds.mean()) if len(problem) else 0.0


@dataclass(frozen=True)
class CountedTarget(Target):
    """A target that counts the schedules that a method has it simulate.

    What a method computes by code of its own, from `draws` or `mean`, is not counted.
    """

    _counts: list[int] = field(default_factory=list, compare=False, repr=False)

    @property
    def simulated(self) -> int:
        """Schedules so far."""
        return sum(self._counts)

    def seconds(self, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
        self._counts.append(len(orders))
        return super().seconds(orders, placements)
