"""What simulated targets say of the very schedules that are executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from pipeline.graphs.corpus.graph import Graph
from pipeline.graphs.devices.targets import Target
from pipeline.graphs.execution.chosen_schedules import Scheduled


def simulate(scheduled: Sequence[Scheduled], targets: Callable[[Graph], Mapping[str, Target]]) -> pd.DataFrame:
    """One row per schedule and target: graph_id, method, seed, schedule, target, seconds.

    targets: by name, of a graph that is executed (its problem: `executable.problem`).
    """
    return pd.DataFrame(
        [
            {**row, "target": name, "seconds": seconds}
            for of in scheduled
            for name, target in targets(of.graph).items()
            for rows, seconds in zip(of.rows, target.seconds(of.orders, of.placements).tolist(), strict=True)
            for row in rows
        ],
        columns=["graph_id", "method", "seed", "schedule", "target", "seconds"],
    )
