"""Which of a method's proposals count: the best by what it sees are judged on the target; the best there is its answer.

Costs are always those of the one simulator, never a method's. Two rules, the same for all methods:

- `best`, the paper's: the best of all. Without transfers more devices are never worse, so that what uses few devices,
  and sends little, is not among them;
- `spread`: the same number, but in equal shares of those that use 1, 2, ... m devices, the best of each; what a share
  leaves goes to the best of all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from pipeline.graphs.devices.targets import Target
from pipeline.graphs.schedulers import Proposals
from pipeline.graphs.schedulers.rules.repair import fits

KEPT = 100  # of 1,000 proposals: Zhang et al. 2023, section 4.3
Rule = Literal["best", "spread"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class Kept:
    """The K best different schedules, best first by what the method sees."""

    orders: np.ndarray  # (K, n) int32
    placements: np.ndarray  # (K, n) int32
    seen: np.ndarray  # (K,) seconds on what the method sees
    judged: np.ndarray  # (K,) seconds on the target

    @property
    def best(self) -> int:
        """Which of them is the method's schedule: the least cost on the target, of equals the first."""
        return int(self.judged.argmin())


def keep(proposals: Proposals, seen: Target, target: Target, count: int = KEPT, rule: Rule = "best") -> Kept:
    """The best `count` different proposals that fit the memory, by one of the two rules, judged on the target.

    seen: the proxy; for a method that is told the target (`settings.needs`) the target itself.
    None is kept (K = 0) of an unsupported method, and where no proposal fits. Raises ValueError as the simulator does.
    """
    costs = seen.seconds(proposals.orders, proposals.placements)
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
    return Kept(orders, placements, costs[chosen], target.seconds(orders, placements))


def _different(proposals: Proposals, ranked: np.ndarray) -> list[int]:
    """Equal schedules once, the first of them."""
    first: dict[bytes, int] = {}
    for s in ranked.tolist():
        first.setdefault(proposals.orders[s].tobytes() + proposals.placements[s].tobytes(), s)
    return list(first.values())


def _spread(placements: np.ndarray, ranked: list[int], devices: int, count: int) -> list[int]:
    """First the best count / m of those that use 1 device, 2 devices, ...; then all others, by their rank."""
    used = {s: len(np.unique(placements[s])) for s in ranked}
    shares = [[s for s in ranked if used[s] == m][: count // devices] for m in range(1, devices + 1)]
    first = [s for share in shares for s in share]
    taken = set(first)
    return [*first, *(s for s in ranked if s not in taken)]
