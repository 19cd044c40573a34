"""Which of a method's proposals count: the best on the target that it sees are judged on the true target.

Costs are always those of the one simulator, never a method's own. The best of the kept schedules on the true target is
the method's answer. There are two rules, the same for all methods:

- `best`, the paper's rule: the best of all proposals. Without transfers, more devices are never worse, so schedules
  that use few devices, and transfer little, are not among them;
- `spread`: the same number of schedules, but in equal shares of those that use 1, 2, ... m devices, the best of each;
  the best of all others fill what a share leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.methods import Proposals
from learned_schedulers.graphs.methods.rules.repair import fits

KEPT = 100  # of 1,000 proposals: Zhang et al. 2023, section 4.3
Rule = Literal["best", "spread"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class KeptSchedules:
    """The K best different schedules, the best on the visible target first."""

    orders: np.ndarray  # (K, n) int32
    placements: np.ndarray  # (K, n) int32
    visible_seconds: np.ndarray  # (K,) on the target that the method sees
    judged_seconds: np.ndarray  # (K,) on the true target

    @property
    def best(self) -> int:
        """Index of the method's answer: the least cost on the true target, the first of equal ones."""
        return int(self.judged_seconds.argmin())


def keep(
    proposals: Proposals, visible_target: Target, target: Target, count: int = KEPT, rule: Rule = "best"
) -> KeptSchedules:
    """The best `count` different proposals that fit the memory, by one of the two rules, judged on the target.

    visible_target: the proxy; for a method that is given the target (`settings.needs`), the target itself.
    The result is empty (K = 0) for an unsupported method, and if no proposal fits. Raises ValueError as the simulator.
    """
    costs = visible_target.seconds(proposals.orders, proposals.placements)
    ranked = _different(proposals, np.argsort(costs, kind="stable"))
    if rule == "spread":
        ranked = _spread(proposals.placements, ranked, target.draws[0].devices, count)
    chosen: list[int] = []
    for s in ranked:
        if len(chosen) == count:
            break
        if fits(target.draws[0], proposals.orders[s], proposals.placements[s]):
            chosen.append(s)
    chosen.sort(key=lambda s: (costs[s], s))
    orders, placements = proposals.orders[chosen], proposals.placements[chosen]
    return KeptSchedules(orders, placements, costs[chosen], target.seconds(orders, placements))


def _different(proposals: Proposals, ranked: np.ndarray) -> list[int]:
    """The ranked schedules without repetitions."""
    first: dict[bytes, int] = {}
    for s in ranked.tolist():
        first.setdefault(proposals.orders[s].tobytes() + proposals.placements[s].tobytes(), s)
    return list(first.values())


def _spread(placements: np.ndarray, ranked: list[int], devices: int, count: int) -> list[int]:
    """First the best count / m of those that use 1 device, 2 devices, ...; then all others by their rank."""
    used = {s: len(np.unique(placements[s])) for s in ranked}
    shares = [[s for s in ranked if used[s] == m][: count // devices] for m in range(1, devices + 1)]
    shared = [s for share in shares for s in share]
    chosen = set(shared)
    return [*shared, *(s for s in ranked if s not in chosen)]
