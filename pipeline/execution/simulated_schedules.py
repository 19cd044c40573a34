"""Simulated makespans of the executed schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from learned_schedulers.graphs.devices.targets import Target
from learned_schedulers.graphs.read.graph import Graph
from pipeline.execution.chosen_schedules import Scheduled


def simulate(scheduled: Sequence[Scheduled], targets: Callable[[Graph], Mapping[str, Target]]) -> pd.DataFrame:
    """One row per schedule and target, with columns graph_id, method, seed, schedule, target, seconds.

    targets: function from an executed graph to its targets by name (its problem is `executable.problem`).
    """
    return pd.DataFrame(
        [
            {**row, "target": name, "seconds": seconds}
            for schedules in scheduled
            for name, target in targets(schedules.graph).items()
            for rows, seconds in zip(
                schedules.rows, target.seconds(schedules.orders, schedules.placements).tolist(), strict=True
            )
            for row in rows
        ],
        columns=["graph_id", "method", "seed", "schedule", "target", "seconds"],
    )
