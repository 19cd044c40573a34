"""The answer of a method whose search found no schedule that fits the memory: never a silent invalid placement."""

from __future__ import annotations

from pipeline.graphs.devices.evaluation import Evaluated
from pipeline.graphs.schedulers import Proposals


def nothing_fits(best: Evaluated, evaluations: int) -> Proposals:
    """best: S = 1, the schedule that exceeds the memory least, of `evaluations` simulated schedules."""
    n = best.placements.shape[1]
    return Proposals.unsupported(
        n,
        f"none of {evaluations} simulated schedules fits devices of {best.memory:g} bytes: the nearest needs "
        f"{best.excess[0]:.1%} more in sum; take more devices, more memory, or more evaluations",
    )
