"""What schedules are judged on: the proxy that methods see, and three targets that differ from it as devices may.

Zhang et al. 2023, section 4.3: hidden run times, and transfers that are bound by bandwidth or by latency. The strengths
are not published there; `bisect` finds those at which list scheduling loses as much as it does in the paper's table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.config.devices import Link
from pipeline.graphs.devices.simulator import makespans
from pipeline.graphs.problems.problem import Problem, Transfers

HIDDEN_DRAWS = 10  # of all run times of a graph, on the target `noisy`
RATIOS = {"noisy": 0.85, "bandwidth": 0.32, "latency": 0.54}  # speedup of list scheduling, target over proxy: table 1
_HALVINGS = 30  # of an interval of at most twice the strength: nine digits
_MOST = 2**20  # strengths above it are not looked for


@dataclass(frozen=True)
class Target:
    """The same graph on the same devices, once, or with several draws of its run times; costs are means over these."""

    draws: tuple[Problem, ...]

    @property
    def mean(self) -> Problem:
        """The problem with the mean run time of each operation: what a method that builds one schedule can know."""
        if len(self.draws) == 1:
            return self.draws[0]
        return replace(self.draws[0], seconds=np.mean([draw.seconds for draw in self.draws], axis=0))

    @property
    def bound(self) -> float:
        """No schedule's cost is less."""
        return float(np.mean([draw.bound for draw in self.draws]))

    def seconds(self, orders: np.ndarray, placements: np.ndarray) -> np.ndarray:
        """Makespan of S schedules, the mean over the draws, (S,). Raises ValueError as the simulator does."""
        return np.mean([makespans(draw, orders, placements) for draw in self.draws], axis=0)


def proxy(problem: Problem) -> Target:
    """No transfers: every result is everywhere at once."""
    return Target((replace(problem, transfers=Transfers()),))


def noisy(problem: Problem, level: float, normals: np.ndarray) -> Target:
    """Log-normal run times around those of the proxy, which they have as their mean.

    level: standard deviation of their logarithm; normals: (draws, n), standard normal (`hidden`).
    """
    factors = np.exp(level * normals - level**2 / 2)
    return Target(tuple(replace(problem, seconds=problem.seconds * row, transfers=Transfers()) for row in factors))


def hidden(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """What is hidden of a graph's run times, for every level of noise: (HIDDEN_DRAWS, n)."""
    return rng.standard_normal((HIDDEN_DRAWS, len(problem)))


def bandwidth(problem: Problem, slope: float) -> Target:
    """Transfers take time by their size: of the mean size, `slope` mean run times. No delay."""
    mean_size = float(problem.sizes.mean()) if problem.sizes.any() else 1.0  # nothing to send: any unit does
    return Target((replace(problem, transfers=Transfers(slope=slope * _unit(problem) / mean_size)),))


def latency(problem: Problem, delay: float) -> Target:
    """Every transfer takes `delay` mean run times, whatever its size."""
    return Target((replace(problem, transfers=Transfers(delay=delay * _unit(problem))),))


def linked(problem: Problem, link: Link) -> Target:
    """Transfers over a link with real figures; run times must be those of real devices, too."""
    return Target((replace(problem, transfers=Transfers(slope=1 / link.bytes_per_second, delay=link.seconds)),))


def _unit(problem: Problem) -> float:
    return float(problem.seconds.mean()) if len(problem) else 0.0


def speedup_ratio(target: Target, problem: Problem, order: np.ndarray, placement: np.ndarray) -> float:
    """Speedup of a schedule on the target over its speedup on the proxy.

    Speedup: total run time (of all draws) over makespan, as in the paper. 1 for a graph without work.
    """
    seconds = {
        name: where.seconds(order[None], placement[None])[0]
        for name, where in (("target", target), ("proxy", proxy(problem)))
    }
    work = float(target.mean.seconds.sum() / problem.seconds.sum()) if problem.seconds.any() else 1.0
    return work * float(seconds["proxy"] / seconds["target"]) if seconds["target"] else 1.0


def bisect(
    problems: Sequence[Problem],
    schedules: Sequence[tuple[np.ndarray, np.ndarray]],
    targets: Sequence[Callable[[float], Target]],
    ratio: float,
) -> float:
    """The strength of a target at which the mean of `speedup_ratio` over the problems is `ratio`.

    schedules: (order, placement) of each, list scheduling's on the proxy; targets: strength -> target, of each problem.
    The mean falls as the strength grows (for noise nearly so: its draws stay the same ones, scaled).
    Raises ValueError where it stays above `ratio` at every strength.
    """

    def mean(strength: float) -> float:
        each = zip(targets, problems, schedules, strict=True)
        return float(np.mean([speedup_ratio(of(strength), problem, *schedule) for of, problem, schedule in each]))

    low, high = 0.0, 1.0
    while mean(high) > ratio:
        low, high = high, 2 * high
        if high > _MOST:
            raise ValueError(
                f"at strength {low:g} list scheduling still has {mean(low):.3f} of its speedup, not {ratio}"
            )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) > ratio else (low, middle)
    return high
