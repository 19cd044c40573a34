"""Which of a method's proposals count: the best by what it sees are judged on the target; the best there is its answer.

Costs are always those of the one simulator, never a method's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.graphs.devices.targets import Target
from pipeline.graphs.schedulers import Proposals
from pipeline.graphs.schedulers.rules.repair import fits

KEPT = 100  # of 1,000 proposals: Zhang et al. 2023, section 4.3


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


def keep(proposals: Proposals, seen: Target, target: Target, count: int = KEPT) -> Kept:
    """The best `count` different proposals that fit the memory, judged on the target.

    seen: the proxy; for a method that is told the target (`settings.needs`) the target itself.
    None is kept (K = 0) of an unsupported method, and where no proposal fits. Raises ValueError as the simulator does.
    """
    costs = seen.seconds(proposals.orders, proposals.placements)
    chosen: list[int] = []
    different: set[bytes] = set()
    for s in np.argsort(costs, kind="stable").tolist():
        order, placement = proposals.orders[s], proposals.placements[s]
        schedule = order.tobytes() + placement.tobytes()
        if schedule not in different and fits(target.draws[0], order, placement):
            chosen.append(s)
            different.add(schedule)
        if len(chosen) == count:
            break
    orders, placements = proposals.orders[chosen], proposals.placements[chosen]
    return Kept(orders, placements, costs[chosen], target.seconds(orders, placements))
